/*
 * A server that starts a thread for each request and never ends one: thousands of idle stacks.
 * @state sick
 * @group 2
 * @who threads-leaked
 * @cause threads
 */
#include <pthread.h>

#include "zoo.h"

static void *idle(void *arg)
{
	char page[8192];

	memset(page, 1, sizeof(page));
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	for (int i = 0; i < 5000; i++)
		if (pthread_create(&t, &a, idle, NULL))
			break;
	zoo_ready();
	while (!zoo_over) {
		pthread_create(&t, &a, idle, NULL);
		usleep(50000);
	}
	_exit(0);
}
