/*
 * Four threads that allocate and free small blocks, and a working set of 200 MiB.
 * @state healthy
 * @group 5
 */
#include <pthread.h>

#include "zoo.h"

static void *work(void *arg)
{
	static _Thread_local char *kept[5000];
	unsigned seed = (unsigned)(size_t)arg;

	for (;;) {
		unsigned i = (unsigned)rand_r(&seed) % 5000;

		free(kept[i]);
		kept[i] = malloc(64 + (unsigned)rand_r(&seed) % 16000);
		kept[i][0] = 1;
		if (i % 500 == 0)
			usleep(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	for (size_t i = 1; i < 5; i++)
		pthread_create(&t, NULL, work, (void *)i);
	sleep(2);
	zoo_ready();
	zoo_wait();
	_exit(0);
}
