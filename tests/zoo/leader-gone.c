/*
 * A service whose first thread has ended, so that ps calls it defunct; a thread of it leaks on.
 * @state sick
 * @group 8
 * @who PID
 * @cause grows
 */
#include <pthread.h>
#include <string.h>

#include "zoo.h"

static void *leak(void *unused)
{
	zoo_ready();
	for (;;) {
		memset(malloc(1 << 20), 1, 1 << 20);
		usleep(60000);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, leak, NULL))
		err(1, "pthread_create");
	pthread_exit(NULL);
}
