/* A library that is loaded at run time; WHICH: one of two, of the same functions. */
#include <stdio.h>
#include <stdlib.h>

static void *kept;
static __thread int local = WHICH;

__attribute__((constructor)) static void begin(void)
{
	kept = malloc(1000 * WHICH);
}

__attribute__((destructor)) static void end(void)
{
	free(kept);
	if (getenv("PLUGIN_SPEAKS"))
		printf("the plugin ends\n");
}

int *plugin_local(void);
int *plugin_local(void)
{
	return &local;
}

int plugin_run(int n);
int plugin_run(int n)
{
	int *p = malloc(sizeof(int) * 10 * WHICH), got;

	*p = n * WHICH;
	got = *p;
	free(p);
	return n ? got + plugin_run(n - 1) : got;
}
