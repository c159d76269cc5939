/*
 * Uses more memory than there is. usage: hog MIB SECONDS
 * Touches MIB of anonymous memory in an order that defeats clustering, over and over until the
 * time is up, so that the kernel has to reclaim for each new page once memory is full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	size_t pages, at = 0;
	volatile char *p;
	double end;

	if (argc != 3)
		return 2;
	pages = (size_t)atol(argv[1]) << 8;
	end = now() + atof(argv[2]);
	p = mmap(NULL, pages << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("hog");
		return 1;
	}
	while (now() < end)
		for (int i = 0; i < 1024; i++) {
			at = (at + 7919) % pages;
			p[at << 12]++;
		}
	return 0;
}
