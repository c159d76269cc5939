/*
 * Memory of every kind, each used by a thread of its own on another node than it was made on.
 * usage: numa_objects [MILLISECONDS]
 * For each, as it is over: what memwhy is to call it, its kind, the thread that used it, its
 * address and size. The thread used nothing else in that range.
 *
 * Kinds: a variable with and without initial value, a heap block, two blocks of two sites at the
 * same address one after the other, a block that realloc moved, a mapping, one that mremap moved,
 * one of huge pages, one in shared memory, the stack of another thread, and of a child its copy of
 * a mapping and of a heap block.
 */
#include <errno.h>
#include <malloc.h>
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

#define MIB (1UL << 20)
#define PAGE 4096
#define HUGE (2 * MIB)

static char static_zero[MIB];
static char static_data[MIB] = {1};
static int far_cpu;
static long milliseconds = 1500;

struct use {
	char *p;
	size_t n;
	int tid;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The first CPU of the last node. */
static void far_cpu_find(void)
{
	char path[96];

	for (int i = 0; i < 64; i++) {
		FILE *f;
		int cpu;

		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", i);
		f = fopen(path, "re");
		if (f && fscanf(f, "%d", &cpu) == 1)
			far_cpu = cpu;
		if (f)
			fclose(f);
	}
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void touch(char *p, size_t n)
{
	for (size_t i = 0; i < n; i += PAGE)
		((volatile char *)p)[i]++;
}

static void touch_for(char *p, size_t n, long ms)
{
	double until = now() + (double)ms / 1e3;

	while (now() < until)
		touch(p, n);
}

static void *user(void *arg)
{
	struct use *u = arg;

	pin(far_cpu);
	u->tid = (int)syscall(SYS_gettid);
	touch_for(u->p, u->n, milliseconds);
	return NULL;
}

static void tell(const char *name, const char *kind, const struct use *u)
{
	printf("%s\t%s\t%d\t%lu\t%zu\n", name, kind, u->tid, (uintptr_t)u->p, u->n);
}

static void use(const char *name, const char *kind, char *p, size_t n)
{
	struct use u = {.p = p, .n = n};
	pthread_t t;

	if (!p || p == MAP_FAILED || pthread_create(&t, NULL, user, &u)) {
		fprintf(stderr, "numa_objects: %s: %s\n", name, strerror(errno));
		exit(1);
	}
	pthread_join(t, NULL);
	tell(name, kind, &u);
}

/* A function of its own for each site, like no other (-fipa-icf), that makes no tail call. */
#define SITE(name, call)                                                  \
	static __attribute__((noinline)) char *name(char *from, size_t n) \
	{                                                                 \
		char *p = call;                                           \
                                                                          \
		(void)from;                                               \
		__asm__("# " #name : "+r"(p));                            \
		if (p && p != MAP_FAILED)                                 \
			touch(p, n);                                      \
		return p;                                                 \
	}
#define ANON(n_) mmap(NULL, n_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)

SITE(site_block, malloc(n))
SITE(site_first, malloc(n))
SITE(site_again, malloc(n))
SITE(site_small, malloc(n))
SITE(site_grown, realloc(from, n))
SITE(site_mapped, ANON(n))
SITE(site_moved, mremap(from, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, ANON(n)))
SITE(site_shared, mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))

/* Of huge pages where there are any; they are made as they are touched. */
static __attribute__((noinline)) char *site_huge(size_t n)
{
	char *p = ANON(n + HUGE);

	if (p == MAP_FAILED)
		return p;
	p = (char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	madvise(p, n, MADV_HUGEPAGE);
	touch(p, n);
	return p;
}

static void blocks(void)
{
	char *p = site_block(NULL, MIB), *again;

	use("site_block", "heap block", p, MIB);
	free(p);
	p = site_first(NULL, MIB);
	use("site_first", "heap block", p, MIB);
	free(p);
	again = site_again(NULL, MIB);
	if (again != p) {
		fprintf(stderr, "numa_objects: a freed address was not used again\n");
		exit(1);
	}
	use("site_again", "heap block", again, MIB);
	free(again);
	/* Not where it was: what follows it is in the way. */
	p = site_small(NULL, MIB / 4);
	again = site_small(NULL, MIB / 4);
	p = site_grown(p, MIB);
	use("site_grown", "heap block", p, MIB);
	free(p);
	free(again);
}

static void mappings(void)
{
	char *p = site_mapped(NULL, MIB);

	use("site_mapped", "mapping", p, MIB);
	p = site_moved(p, MIB);
	use("site_mapped", "mapping", p, MIB);
	munmap(p, MIB);
	p = site_huge(2 * HUGE);
	use("site_huge", "mapping", p, 2 * HUGE);
	p = site_shared(NULL, MIB);
	use("site_shared", "shared memory", p, MIB);
}

/* Its owner uses it first, then waits for a thread that does. */
static void *stack_owner(void *arg)
{
	char array[MIB], name[64];

	(void)arg;
	touch_for(array, sizeof(array), milliseconds);
	snprintf(name, sizeof(name), "stack of numa_objects (%d)", (int)syscall(SYS_gettid));
	use(name, "stack", array, sizeof(array));
	return NULL;
}

static void stacks(void)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, stack_owner, NULL))
		pthread_join(t, NULL);
}

/* What the child writes to is its copy, at the same address. It takes longer: what was not used for
 * some scans is left out of the next (since 6.4; kernel/sched/fair.c, vma_is_accessed()). */
static void child(void)
{
	char *block = site_block(NULL, MIB), *mapping = site_mapped(NULL, MIB);

	if (!fork()) {
		milliseconds *= 2;
		use("site_block", "heap block", block, MIB);
		use("site_mapped", "mapping", mapping, MIB);
		_exit(0);
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		milliseconds = strtol(argv[1], NULL, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	mallopt(M_MMAP_THRESHOLD, 16 << 20); /* blocks lie beside each other */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	far_cpu_find();
	pin(0);
	touch(static_zero, sizeof(static_zero));
	touch(static_data, sizeof(static_data));
	use("static_zero", "variable", static_zero, sizeof(static_zero));
	use("static_data", "variable", static_data, sizeof(static_data));
	blocks();
	mappings();
	stacks();
	child();
	return 0;
}
