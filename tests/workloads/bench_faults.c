/*
 * What a page fault costs. usage: bench_faults [ROUNDS [PAGES [DEPTH]]]
 * Each round touches PAGES fresh anonymous 4 KiB pages one by one, DEPTH calls deep, then gives
 * them back. Prints "FAULTS NS": the faults of all rounds, and the thread's CPU time for one fault
 * in the first decile of rounds. CPU time and the quicker rounds, so that what else runs on the
 * machine counts little.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define ROUNDS_MAX 100000

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void touch(volatile char *p, size_t pages, size_t depth)
{
	if (depth > 1)
		touch(p, pages, depth - 1);
	else
		for (size_t i = 0; i < pages; i++)
			p[i * 4096] = 1;
	__asm__ volatile("" ::: "memory"); /* no tail call: one frame a level */
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	static double ns[ROUNDS_MAX];
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	size_t pages = argc > 2 ? strtoul(argv[2], NULL, 10) : 2048;
	size_t depth = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	char *p = mmap(
		NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || !rounds || rounds > ROUNDS_MAX || !pages)
		return 2;
	madvise(p, pages * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < rounds; i++) {
		double start = cpu_ns();

		touch(p, pages, depth);
		ns[i] = (cpu_ns() - start) / (double)pages;
		madvise(p, pages * 4096, MADV_DONTNEED);
	}
	qsort(ns, rounds, sizeof(*ns), by_value);
	printf("%zu %.1f\n", rounds * pages, ns[rounds / 10]);
	return 0;
}
