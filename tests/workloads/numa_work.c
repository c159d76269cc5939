/*
 * Programs whose use of memory by nodes is known. usage: numa_work PATTERN [MIB [SECONDS [fix]]]
 * Prints "ready PID ADDRESS BYTES", the memory it is about, waits for a line, works for SECONDS,
 * and prints "done". Threads are pinned to the first CPU of a node, in turn: of the nodes that have
 * CPUs and memory; on a machine with one, all are there. With `fix` the memory is where it should
 * be, by the advice that the pattern calls for.
 *
 * PATTERN: local (each thread its own), producer (one fills, another uses), turns (two use it, one
 * after the other), readers (all read what one filled), writers (all write to it), main (the first
 * touch is by the main thread, each then uses its part), both (a producer's memory, and as much
 * that all write to).
 *
 * Like programs that MemProf was tried on: stream (a block of points that all read, and each its
 * own sums: streamcluster), faces (one thread reads pictures in, each of the others works on its
 * own: face recognition), sort (threads sort their part of what the main thread allocated, one
 * merges: psearchy), fork (a server whose children read a cache in shared memory: Apache with PHP).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NODES 8
#define PAGE 4096
#define RUN (64 << 10) /* what is sorted at once */
#define MPOL_BIND 2
#define MPOL_INTERLEAVE 3

static int node_cpu[NODES], node_id[NODES], nodes;
static volatile char *memory;
static size_t bytes;
static double until;
static int fixed;
static volatile char *pictures[64];
static volatile int turn;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The first CPU of each node that has one. */
static void nodes_find(void)
{
	char path[96];

	for (int i = 0; i < NODES; i++) {
		int cpu;
		FILE *f;

		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", i);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%d", &cpu) == 1) {
			node_id[nodes] = i;
			node_cpu[nodes++] = cpu;
		}
		fclose(f);
	}
	if (!nodes)
		nodes = 1;
}

static void pin(int i)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)node_cpu[i % nodes], &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static volatile char *map_as(size_t n, int how)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	madvise(p, n, MADV_NOHUGEPAGE);
	return p;
}

static volatile char *map(size_t n)
{
	return map_as(n, MAP_PRIVATE);
}

static void policy(volatile char *p, size_t n, int mode, unsigned long mask)
{
	if (nodes > 1)
		syscall(SYS_mbind, p, n, mode, &mask, 64UL, 0U);
}

static unsigned long all_nodes(void)
{
	unsigned long mask = 0;

	for (int i = 0; i < nodes; i++)
		mask |= 1UL << node_id[i];
	return mask;
}

static void fill(volatile char *p, size_t n)
{
	for (size_t i = 0; i < n; i += PAGE)
		p[i] = (char)i;
}

static __attribute__((noinline)) long use(volatile char *p, size_t n, int write)
{
	long sum = 0;

	for (size_t i = 0; i < n; i += 64)
		if (write)
			p[i]++;
		else
			sum += p[i];
	return sum;
}

struct part {
	pthread_t thread;
	int number, of;
};

static void *work_local(void *arg)
{
	struct part *p = arg;
	size_t n = bytes / (size_t)p->of;
	volatile char *mine;

	pin(p->number);
	mine = map(n);
	fill(mine, n);
	while (now() < until)
		use(mine, n, 1);
	return NULL;
}

/* A copy by the thread that reads it lies on its node. */
static volatile char *copy(void)
{
	volatile char *mine = map(bytes);

	memcpy((void *)mine, (const void *)memory, bytes);
	return mine;
}

static void *work_read(void *arg)
{
	volatile char *what;

	pin(((struct part *)arg)->number);
	what = fixed ? copy() : memory;
	while (now() < until)
		use(what, bytes, 0);
	return NULL;
}

static void *work_produced(void *arg)
{
	pin(((struct part *)arg)->number);
	while (now() < until)
		use(memory, bytes, 0);
	return NULL;
}

/* The fix: who works on a picture touches its memory first, and then it is read in. */
static void *work_faces(void *arg)
{
	struct part *p = arg;
	size_t n = bytes / (size_t)p->of;

	pin(p->number);
	if (fixed) {
		fill(pictures[p->number], n);
		pin(0);
		fill(pictures[p->number], n);
		pin(p->number);
	}
	while (now() < until)
		use(pictures[p->number], n, 0);
	return NULL;
}

static void *work_both(void *arg)
{
	struct part *p = arg;

	pin(p->number);
	while (now() < until) {
		use(memory, bytes, 1);
		if (p->number == 1)
			use(pictures[1], bytes, 0);
	}
	return NULL;
}

static void *work_write(void *arg)
{
	pin(((struct part *)arg)->number);
	while (now() < until)
		use(memory, bytes, 1);
	return NULL;
}

static void *work_part(void *arg)
{
	struct part *p = arg;
	size_t n = bytes / (size_t)p->of / PAGE * PAGE;

	pin(p->number);
	if (fixed)
		fill(memory + n * (size_t)p->number, n);
	while (now() < until)
		use(memory + n * (size_t)p->number, n, 1);
	return NULL;
}

static void *work_turns(void *arg)
{
	struct part *p = arg;

	pin(fixed ? 0 : p->number);
	while (now() < until)
		if (turn % p->of == p->number) {
			double end = now() + 0.2;

			while (now() < end && now() < until)
				use(memory, bytes, 1);
			turn++;
		} else {
			usleep(1000);
		}
	return NULL;
}

static void *work_stream(void *arg)
{
	static char sums[64][PAGE] __attribute__((aligned(PAGE)));
	struct part *p = arg;
	volatile char *points;

	pin(p->number);
	points = fixed ? copy() : memory;
	while (now() < until)
		sums[p->number][0] += (char)use(points, bytes, 0);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void *work_sort(void *arg)
{
	struct part *p = arg;
	size_t n = bytes / (size_t)p->of / RUN * RUN;
	volatile char *mine = memory + n * (size_t)p->number;

	pin(p->number);
	for (size_t at = 0; now() < until; at = (at + RUN) % n) {
		for (size_t i = 0; i < RUN; i += 4)
			*(volatile int *)(mine + at + i) = (int)(i * 2654435761U);
		qsort((void *)(mine + at), RUN / 4, 4, by_value);
	}
	return NULL;
}

static void threads(int n, void *(*work)(void *), int first)
{
	struct part parts[64];

	for (int i = 0; i < n; i++) {
		parts[i] = (struct part){.number = i + first, .of = n + first};
		pthread_create(&parts[i].thread, NULL, work, &parts[i]);
	}
	for (int i = 0; i < n; i++)
		pthread_join(parts[i].thread, NULL);
}

static void sort(int n)
{
	threads(n, work_sort, 0);
	use(memory, bytes, 0); /* the merge reads all parts, once */
}

static void children(int n)
{
	for (int i = 0; i < n; i++)
		if (!fork()) {
			struct part p = {.number = i, .of = n};

			work_read(&p);
			_exit(0);
		}
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static void run(const char *pattern)
{
	int n = nodes < 2 ? 2 : nodes;

	if (!strcmp(pattern, "local"))
		threads(n, work_local, 0);
	else if (!strcmp(pattern, "producer"))
		threads(1, work_produced, 1);
	else if (!strcmp(pattern, "faces"))
		threads(n - 1, work_faces, 1);
	else if (!strcmp(pattern, "both"))
		threads(n, work_both, 0);
	else if (!strcmp(pattern, "turns"))
		threads(2, work_turns, 0);
	else if (!strcmp(pattern, "readers"))
		threads(n, work_read, 0);
	else if (!strcmp(pattern, "writers"))
		threads(n, work_write, 0);
	else if (!strcmp(pattern, "main"))
		threads(n, work_part, 0);
	else if (!strcmp(pattern, "stream"))
		threads(n, work_stream, 0);
	else if (!strcmp(pattern, "sort"))
		sort(n);
	else if (!strcmp(pattern, "fork"))
		children(n);
	else
		exit(2);
}

/* Pictures of threads 1 to n - 1, each allocated and read in by the main thread. */
static void pictures_make(int n, size_t each)
{
	for (int i = 1; i < n; i++) {
		pictures[i] = map(each);
		if (!fixed)
			fill(pictures[i], each);
	}
}

/* Where the memory comes to be: filled by the main thread on the first node, or fixed. */
static void prepare(const char *pattern)
{
	int n = nodes < 2 ? 2 : nodes;

	if (!strcmp(pattern, "faces"))
		pictures_make(n, bytes / (size_t)n);
	if (!strcmp(pattern, "both"))
		pictures_make(2, bytes);
	memory = map_as(bytes, strcmp(pattern, "fork") ? MAP_PRIVATE : MAP_SHARED);
	if (fixed && !strcmp(pattern, "producer"))
		policy(memory, bytes, MPOL_BIND, 1UL << node_id[1 % nodes]);
	else if (fixed && !strcmp(pattern, "writers"))
		policy(memory, bytes, MPOL_INTERLEAVE, all_nodes());
	if (!fixed || (strcmp(pattern, "main") && strcmp(pattern, "sort")))
		fill(memory, bytes);
}

int main(int argc, char **argv)
{
	const char *pattern = argc > 1 ? argv[1] : "";
	char line[64];

	bytes = (argc > 2 ? strtoul(argv[2], NULL, 0) : 16) << 20;
	fixed = argc > 4 && !strcmp(argv[4], "fix");
	setvbuf(stdout, NULL, _IONBF, 0);
	nodes_find();
	pin(0);
	prepare(pattern);
	printf("ready %d %p %zu\n", (int)getpid(), (void *)memory, bytes);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	until = now() + (argc > 3 ? strtod(argv[3], NULL) : 5);
	run(pattern);
	printf("done\n");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
