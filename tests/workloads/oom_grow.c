/*
 * Grows at a known rate until it is killed: takes -s MiB at once, says "ready", then -r MiB a
 * second in steps of a hundredth, up to -m MiB (0: no end), and then waits. Every page is
 * written, and none is alike. -f: it first forks a child that does the same, in the same group.
 *
 * usage: oom_grow [-s START_MIB] [-r RATE_MIB] [-m MAX_MIB] [-f]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define STEPS 100

static unsigned long start_mib = 8, rate_mib = 16, max_mib;

static void take(size_t bytes)
{
	static unsigned long n;
	size_t page = (size_t)getpagesize();
	char *p;

	if (!bytes)
		return;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "oom_grow: mmap: %s\n", strerror(errno));
		exit(1);
	}
	for (size_t i = 0; i < bytes; i += page)
		memcpy(p + i, &(unsigned long){++n}, sizeof(n));
}

static void grow(void)
{
	size_t step = rate_mib * MIB / STEPS / 4096 * 4096, held = start_mib * MIB;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!max_mib || held < max_mib * MIB) {
		take(step);
		held += step;
		next.tv_nsec += 1000000000 / STEPS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

int main(int argc, char **argv)
{
	int opt, twice = 0;

	while ((opt = getopt(argc, argv, "s:r:m:f")) > 0) {
		if (opt == '?')
			return 2;
		if (opt == 'f')
			twice = 1;
		else
			*(opt == 's'         ? &start_mib
				: opt == 'r' ? &rate_mib
					     : &max_mib) = strtoul(optarg, NULL, 10);
	}
	if (twice)
		fork();
	take(start_mib * MIB);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	grow();
	for (;;)
		pause();
}
