/* A server with a pool of threads that wait, each with an arena of malloc that it uses: nothing is
 * wrong.
 * @state healthy
 * @group 2
 */
#include <pthread.h>

#include "zoo.h"

static void *worker(void *arg)
{
	char *kept = malloc(64 << 10);

	while (!zoo_over) {
		memset(kept, (int)(size_t)arg, 64 << 10);
		usleep(100000);
	}
	free(kept);
	return NULL;
}

int main(void)
{
	pthread_t t;

	for (size_t i = 0; i < 200; i++)
		pthread_create(&t, NULL, worker, (void *)i);
	zoo_ready();
	zoo_wait();
	return 0;
}
