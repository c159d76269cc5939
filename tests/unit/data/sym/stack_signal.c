/* Built by the tests: signals every millisecond, on the stack of the program and on one of their
 * own, one within the other, without end. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned int sink;
static char other_stack[65536];

NOINLINE static unsigned int work(int n)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += (unsigned int)now.tv_nsec;
	return n ? work(n - 1) + sink : (unsigned int)getppid();
}

NOINLINE static void on_other_stack(int signal)
{
	(void)signal;
	for (int i = 0; i < 1000; i++)
		sink += work(5);
}

NOINLINE static void on_this_stack(int signal)
{
	(void)signal;
	for (int i = 0; i < 300; i++)
		sink += work(3);
	raise(SIGUSR1);
}

int main(void)
{
	const struct itimerval every = {.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000};
	const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {.sa_handler = on_this_stack};

	sigaction(SIGALRM, &action, NULL);
	action.sa_handler = on_other_stack;
	action.sa_flags = SA_ONSTACK;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (;;)
		sink += work(20);
}
