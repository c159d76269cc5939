/* What programs of the zoo do alike: say that they are ready, wait for the end, fail loudly. */
#ifndef MEMWHY_TESTS_ZOO_H
#define MEMWHY_TESTS_ZOO_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1UL << 20)

static volatile sig_atomic_t zoo_over;

static inline void zoo_end(int sig)
{
	(void)sig;
	zoo_over = 1;
}

/* The trouble is there: check may look. From here on SIGTERM sets zoo_over. */
static inline void zoo_ready(void)
{
	struct sigaction a = {.sa_handler = zoo_end};

	sigaction(SIGTERM, &a, NULL);
	puts("ready");
	fflush(stdout);
}

/* Returns when the program is to undo what it did. */
static inline void zoo_wait(void)
{
	while (!zoo_over)
		usleep(50000);
}

static inline void *zoo_memory(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

#endif
