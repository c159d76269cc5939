/* A library to preload that stands before malloc itself, as many programs' own tools do. */
#include <dlfcn.h>
#include <stdlib.h>

static unsigned long seen;
static void *(*real_malloc)(size_t);

void *malloc(size_t size)
{
	if (!real_malloc)
		real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	seen++;
	return real_malloc(size);
}

unsigned long wraps_seen(void);
unsigned long wraps_seen(void)
{
	return seen + 300;
}
