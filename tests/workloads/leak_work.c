/*
 * Kernel memory that is kept, or not, at a known rate. usage: leak_work MODE PER_SECOND
 * Prints "ready" and waits for a line; works until the next line; prints "held N", what it holds
 * then, waits for the end of its input, and gives it back. What it holds is N files on /dev/shm (N
 * of shmem_inode_cache, N dentries) or, with pages, N pages in pipes.
 *	keep: as many new ones a second, none given back
 *	churn: as many, each given back at once
 *	warm: all of one second at once, then nothing but churn
 *	saw: as keep, but every second all are given back
 *	pages: as keep, pages
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEPS 50 /* a second */
#define PIPE_PAGES 16
#define MOST 16000 /* pages, for which a process may have descriptors everywhere */

static int (*pipes)[2];
static long held;

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static void path_of(char path[64], long i)
{
	snprintf(path, 64, "/dev/shm/leak_work.%d.%ld", (int)getpid(), i);
}

static void file_make(void)
{
	char path[64];
	int fd;

	path_of(path, held);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(path);
	close(fd);
	held++;
}

static void file_remove(void)
{
	char path[64];

	path_of(path, --held);
	if (unlink(path))
		fail(path);
}

static void page_make(void)
{
	static char page[4096];
	int *p = pipes[held / PIPE_PAGES];

	if (held % PIPE_PAGES == 0 && pipe2(p, O_NONBLOCK))
		fail("pipe");
	if (write(p[1], page, sizeof(page)) != (ssize_t)sizeof(page))
		fail("write");
	held++;
}

/* One step of a mode. */
static void step(const char *mode, long n, long i)
{
	if (!strcmp(mode, "saw") && i % STEPS == 0)
		while (held)
			file_remove();
	if (!strcmp(mode, "warm") && !i)
		for (long k = 0; k < n * STEPS; k++)
			file_make();
	for (long k = 0; k < n; k++) {
		if (!strcmp(mode, "pages")) {
			if (held < MOST)
				page_make();
			continue;
		}
		file_make();
		if (!strcmp(mode, "churn") || !strcmp(mode, "warm"))
			file_remove();
	}
}

static void work(const char *mode, long n)
{
	struct pollfd in = {.events = POLLIN};
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; !poll(&in, 1, 0); i++) {
		step(mode, n, i);
		next.tv_nsec += 1000000000L / STEPS;
		next.tv_sec += next.tv_nsec / 1000000000L;
		next.tv_nsec %= 1000000000L;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) / STEPS : 0;
	char line[64];

	if (n <= 0)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	pipes = calloc(MOST / PIPE_PAGES + 1, sizeof(*pipes));
	if (!pipes)
		fail("pipes");
	puts("ready");
	if (read(0, line, sizeof(line)) <= 0)
		return 1;
	work(argv[1], n);
	if (read(0, line, sizeof(line)) <= 0)
		return 1;
	printf("held %ld\n", held);
	while (read(0, line, sizeof(line)) > 0)
		;
	while (held && strcmp(argv[1], "pages") != 0)
		file_remove();
	return 0;
}
