/*
 * Kernel memory that is kept, or not, at a known rate. usage: leak_work MODE PER_SECOND
 * Prints "ready" and waits for a line; works until the next line; prints "held N", what it holds
 * then, and waits for the end of its input. What it holds is N of struct epitem or, with pages, N
 * pages in pipes.
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
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define STEPS 50 /* a second */
#define PIPE_PAGES 16
#define MOST 16000 /* a process has so many descriptors also where it may not ask for more */

static int watcher, event, copies[MOST];
static int (*pipes)[2];
static long held;

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static void epoll_make(void)
{
	struct epoll_event e = {.events = EPOLLIN};

	copies[held] = dup(event);
	if (copies[held] < 0 || epoll_ctl(watcher, EPOLL_CTL_ADD, copies[held], &e))
		fail("epoll_ctl");
	held++;
}

static void epoll_remove(void)
{
	held--;
	if (epoll_ctl(watcher, EPOLL_CTL_DEL, copies[held], NULL))
		fail("epoll_ctl");
	close(copies[held]);
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
			epoll_remove();
	if (!strcmp(mode, "warm") && !i)
		for (long k = 0; k < n * STEPS; k++)
			epoll_make();
	for (long k = 0; k < n && held < MOST; k++) {
		if (!strcmp(mode, "pages")) {
			page_make();
			continue;
		}
		epoll_make();
		if (!strcmp(mode, "churn") || !strcmp(mode, "warm"))
			epoll_remove();
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
	struct rlimit most = {MOST + 1024, MOST + 1024};
	long n = argc == 3 ? atol(argv[2]) / STEPS : 0;
	char line[64];

	if (n <= 0)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	if (setrlimit(RLIMIT_NOFILE, &most))
		fail("RLIMIT_NOFILE");
	watcher = epoll_create1(EPOLL_CLOEXEC);
	event = eventfd(0, EFD_CLOEXEC);
	pipes = calloc(MOST / PIPE_PAGES, sizeof(*pipes));
	if (watcher < 0 || event < 0 || !pipes)
		fail("setup");
	puts("ready");
	if (read(0, line, sizeof(line)) <= 0)
		return 1;
	work(argv[1], n);
	if (read(0, line, sizeof(line)) <= 0)
		return 1;
	printf("held %ld\n", held);
	while (read(0, line, sizeof(line)) > 0)
		;
	return 0;
}
