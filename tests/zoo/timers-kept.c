/*
 * A program that makes a POSIX timer for each request and deletes none.
 * @state sick
 * @group 2
 * @who timers-kept
 * @cause timer
 */
#include <sys/resource.h>
#include <time.h>

#include "zoo.h"

int main(void)
{
	struct rlimit many = {4000000, 4000000};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t t;

	setrlimit(RLIMIT_SIGPENDING, &many);
	for (int i = 0; i < 500000; i++)
		if (timer_create(CLOCK_MONOTONIC, &e, &t))
			break;
	zoo_ready();
	while (!zoo_over) {
		for (int i = 0; i < 500; i++)
			timer_create(CLOCK_MONOTONIC, &e, &t);
		usleep(50000);
	}
}
