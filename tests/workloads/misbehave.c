/*
 * Memory misbehaviour for ./demo and the tests, bounded in time and size; meant to run in a
 * memory-limited cgroup. usage: misbehave SECONDS FILE FILE_MIB LEAK_MIB_PER_S [PROGRESS]
 *
 * One process grows by a steady rate of anonymous memory up to a fixed bound and never gives it
 * back; its child reads a mapped file that is larger than what is left, over and over, so that
 * every page has to be read again. FILE is created and removed. PROGRESS gets a line each second: how
 * many pages the reader has got through since it began.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define LEAK_MAX (48 * MIB)

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int file_create(const char *path, size_t size)
{
	static char block[MIB];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		return -1;
	memset(block, 7, sizeof(block));
	for (size_t at = 0; at < size; at += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return -1;
	fsync(fd);
	return fd;
}

/* Jumps through the file so that readahead does not hide the misses. */
static __attribute__((noinline)) unsigned scan_file(const volatile char *map, size_t size)
{
	static size_t at;
	unsigned sum = 0;

	for (int i = 0; i < 64; i++) {
		at = (at + 37 * 4096 * 11) % size;
		sum += (unsigned)map[at];
	}
	return sum;
}

static void reader(int fd, size_t size, double end, volatile unsigned long *pages)
{
	const volatile char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	volatile unsigned sum = 0;

	prctl(PR_SET_NAME, "demo-reader");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (map == MAP_FAILED)
		_exit(1);
	madvise((void *)(unsigned long)map, size, MADV_RANDOM);
	while (now() < end) {
		sum += scan_file(map, size);
		*pages += 64;
	}
	_exit(0);
}

static __attribute__((noinline)) void leak_some(size_t bytes)
{
	char *p = malloc(bytes);

	if (p)
		memset(p, 1, bytes);
	__asm__ volatile("" ::"r"(p) : "memory"); /* or the compiler leaves it all out */
}

static void leaker(
	double end, double mib_per_second, FILE *progress, const volatile unsigned long *pages)
{
	double next = now() + 1;
	size_t total = 0;
	struct timespec tick = {.tv_nsec = 50 * 1000 * 1000};

	prctl(PR_SET_NAME, "demo-leaker");
	while (now() < end) {
		size_t bytes = (size_t)(mib_per_second * 0.05 * (double)MIB);

		if (total + bytes < LEAK_MAX)
			leak_some(bytes);
		total += bytes;
		if (progress && now() >= next) {
			fprintf(progress, "%lu\n", *pages);
			fflush(progress);
			next += 1;
		}
		nanosleep(&tick, NULL);
	}
}

int main(int argc, char **argv)
{
	volatile unsigned long *pages;
	FILE *progress = NULL;
	double end;
	size_t size;
	pid_t child;
	int fd;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: misbehave SECONDS FILE FILE_MIB LEAK_MIB_PER_S [PROGRESS]\n");
		return 2;
	}
	pages = mmap(NULL, sizeof(*pages), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc == 6)
		progress = fopen(argv[5], "w");
	if (pages == MAP_FAILED || (argc == 6 && !progress)) {
		perror("misbehave");
		return 1;
	}
	end = now() + atof(argv[1]);
	size = (size_t)atol(argv[3]) * MIB;
	fd = file_create(argv[2], size);
	unlink(argv[2]);
	if (fd < 0) {
		fprintf(stderr, "misbehave: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	child = fork();
	if (!child)
		reader(fd, size, end, pages);
	leaker(end, atof(argv[4]), progress, pages);
	if (child > 0)
		waitpid(child, NULL, 0);
	return 0;
}
