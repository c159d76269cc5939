/* A server's threads answered a burst of large requests. Each freed all of it but one small block
 * that it keeps for later, at the end of its arena.
 * @state sick
 * @group 8
 * @who arenas-bound
 * @cause freed|arena
 */
#include <pthread.h>

#include "zoo.h"

#define THREADS 8
#define BLOCKS 12000
#define BYTES 8192

static pthread_barrier_t done;

static void *worker(void *arg)
{
	static __thread char *blocks[BLOCKS];

	(void)arg;
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BYTES);
		memset(blocks[i], 1, BYTES);
	}
	for (int i = 0; i < BLOCKS - 1; i++)
		free(blocks[i]);
	pthread_barrier_wait(&done);
	zoo_wait();
	return blocks[BLOCKS - 1];
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&done, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t, NULL, worker, NULL);
	pthread_barrier_wait(&done);
	zoo_ready();
	zoo_wait();
	return 0;
}
