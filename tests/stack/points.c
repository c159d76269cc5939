/*
 * Makes a system call (getppid) at known places, and prints at each what libgcc says the stack is:
 * "NAME: ADDRESS…" from the caller of point() on. Built without frame pointers.
 * usage: points [LIBRARY OTHER]: waits for a line on its input, says "done", and waits for another.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "points.h"

#define DEEP 600
#define ALARMS 150

static int sink;

__attribute__((noinline)) void point(const char *name)
{
	void *at[DEEP];
	int n = backtrace(at, DEEP);

	printf("%s:", name);
	for (int i = 1; i < n; i++)
		printf(" %lx", (unsigned long)at[i]);
	printf("\n");
	fflush(stdout);
	sink += (int)syscall(SYS_getppid);
}

__attribute__((noinline)) static int nested(int depth, const char *name)
{
	char block[depth % 7 * 24 + 8]; /* of no fixed size: that function does keep a frame */

	memset(block, depth, sizeof(block));
	if (depth)
		sink += nested(depth - 1, name);
	else
		point(name);
	return block[sizeof(block) - 1] + sink;
}

__attribute__((noinline, noclone)) static int plain(int depth, int a, int b, const char *name)
{
	int r = 0;

	if (depth)
		r = plain(depth - 1, b, a + depth, name);
	else
		point(name);
	__asm__ volatile("" : "+r"(r)); /* no loop can be made of this */
	return r * 3 + a - b;
}

static int compare(const void *a, const void *b)
{
	if (!sink++)
		point("qsort");
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
	point(number == SIGUSR1 ? "signal" : "alternate");
}

static void *in_thread(void *arg)
{
	(void)arg;
	plain(5, 1, 2, "thread");
	return NULL;
}

static void signals(void)
{
	static char other[1 << 16];
	const stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
	const struct sigaction here = {.sa_handler = on_signal};
	const struct sigaction there = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &here, NULL);
	sigaction(SIGUSR2, &there, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
}

/* Signals wherever the code just is: before a frame is set up, after it is gone, in a call's stub. */
static volatile int alarms;

static void on_alarm(int number)
{
	(void)number;
	if (alarms < ALARMS)
		point("anywhere");
	alarms++;
}

static int compare_quietly(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline, noclone)) static int busy(int depth, int seed)
{
	int numbers[6] = {seed, depth, 3, seed ^ depth, 9, 4};
	char block[depth % 5 * 40 + 8];
	int r = 0;

	memset(block, seed, sizeof(block));
	if (depth)
		r = busy(depth - 1, seed * 5 + 1);
	else
		qsort(numbers, 6, sizeof(*numbers), compare_quietly);
	__asm__ volatile("" : "+r"(r));
	return r + numbers[2] + block[sizeof(block) - 1];
}

static void anywhere(void)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; alarms < ALARMS; i++)
		sink += busy(i % 30, i);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid) {
		plain(4, 3, 4, "fork");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* What was loaded just now is known a moment after it was first met. */
static void settle(void)
{
	syscall(SYS_getppid);
	usleep(500000);
}

#ifndef STATIC
static void in_library(const char *path, const char *other)
{
	void (*call)(void (*)(const char *), const char *);
	void *lib = dlopen(path, RTLD_NOW);

	if (!lib) {
		printf("error: %s\n", dlerror());
		exit(1);
	}
	call = (void (*)(void (*)(const char *), const char *))dlsym(lib, "points_lib");
	if (other && rename(other, path)) {
		perror("rename");
		exit(1);
	}
	call(point, "warm");
	settle();
	call(point, other ? "replaced" : "library");
}
#endif

static void all(int argc, char **argv)
{
	int numbers[16] = {3, 1, 2};
	pthread_t thread;

	plain(3, 1, 2, "plain");
	plain(60, 1, 2, "sixty");
	plain(500, 1, 2, "deep");
	nested(9, "nested");
	sink = 0;
	qsort(numbers, 16, sizeof(*numbers), compare);
	points_throw();
	signals();
	anywhere();
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	child();
#ifndef STATIC
	if (argc > 2) {
		in_library(argv[1], NULL);
		in_library(argv[2], argv[1]);
	}
#else
	(void)argc;
	(void)argv;
#endif
}

static void wait_line(void)
{
	while (getchar() > '\n')
		;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "again")) {
		settle();
		sink += plain(6, 7, 8, "exec");
	} else {
		printf("ready\n");
		fflush(stdout);
		wait_line();
		all(argc, argv);
		if (argc > 1 && !fork())
			execl("/proc/self/exe", "points", "again", NULL);
		wait(NULL);
		printf("done\n");
		fflush(stdout);
		wait_line();
	}
	return sink == 12345;
}
