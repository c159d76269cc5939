/*
 * A program whose allocator keeps what it has freed: THREADS threads allocate BLOCKS blocks each
 * and free nine of ten: all at once or, with "turn" behind, one after another. Prints "ready", then
 * obeys lines on its input: "info" prints what malloc_info() says of each arena (fast, rest and
 * system, in bytes), "trim" calls malloc_trim(0), then "done".
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define KEPT_IN 10 /* of so many blocks one stays */

static unsigned long blocks;
static pthread_barrier_t all_there, all_freed;
static int in_turn;
static sem_t ended;

static size_t size_of(unsigned long i)
{
	return 64 + i * 7919 % 4000;
}

static void work(void)
{
	char **v = malloc(blocks * sizeof(*v));

	for (unsigned long i = 0; v && i < blocks; i++) {
		v[i] = malloc(size_of(i));
		if (v[i])
			memset(v[i], 1, size_of(i));
	}
	if (!in_turn)
		pthread_barrier_wait(&all_there);
	for (unsigned long i = 0; v && i < blocks; i++)
		if (i % (KEPT_IN * 8) >= 8) /* eight in a row stay: pages between are free */
			free(v[i]);
	if (!in_turn)
		pthread_barrier_wait(&all_freed);
	sem_post(&ended);
}

static void *thread(void *unused)
{
	(void)unused;
	work();
	pause();
	return NULL;
}

/* Of each <heap>: "arena FAST REST SYSTEM". */
static void info_print(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	malloc_info(0, f);
	fclose(f);
	for (char *heap = strstr(text, "<heap nr"); heap; heap = strstr(heap + 1, "<heap nr")) {
		unsigned long fast = 0, rest = 0, size = 0;
		char *p = strstr(heap, "<total type=\"fast\"");

		if (p)
			sscanf(p, "<total type=\"fast\" count=\"%*u\" size=\"%lu\"", &fast);
		p = strstr(heap, "<total type=\"rest\"");
		if (p)
			sscanf(p, "<total type=\"rest\" count=\"%*u\" size=\"%lu\"", &rest);
		p = strstr(heap, "<system type=\"current\"");
		if (p)
			sscanf(p, "<system type=\"current\" size=\"%lu\"", &size);
		printf("arena %lu %lu %lu\n", fast, rest, size);
	}
	free(text);
}

int main(int argc, char **argv)
{
	static char line[64], out[4096];
	unsigned long threads;
	pthread_t id;

	if (argc < 3)
		return 2;
	/* khugepaged would fill again what was trimmed */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	threads = strtoul(argv[1], NULL, 10);
	blocks = strtoul(argv[2], NULL, 10);
	in_turn = argc > 3 && !strcmp(argv[3], "turn");
	sem_init(&ended, 0, 0);
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	pthread_barrier_init(&all_there, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&all_freed, NULL, (unsigned)threads + 1);
	for (unsigned long i = 0; i < threads; i++)
		if (pthread_create(&id, NULL, thread, NULL) || (in_turn && sem_wait(&ended)))
			return 1;
	work();
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, line, sizeof(line)) > 0) {
		if (!strncmp(line, "info", 4))
			info_print();
		else if (!strncmp(line, "trim", 4))
			malloc_trim(0);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
