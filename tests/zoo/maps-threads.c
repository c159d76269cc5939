/*
 * Many threads that map, touch and unmap buffers all the time: each change locks the address space
 * they share.
 * @state sick
 * @group 5
 * @who maps-threads
 * @cause mmap_lock|lock of (its|their) address space
 */
#include <pthread.h>

#include "zoo.h"

static void *work(void *unused)
{
	while (!zoo_over) {
		char *p = zoo_memory(16 * 4096);

		for (int i = 0; i < 16; i++)
			p[i * 4096] = 1;
		munmap(p, 16 * 4096);
	}
	return unused;
}

int main(void)
{
	pthread_t t[12];

	zoo_ready();
	for (int i = 0; i < 12; i++)
		pthread_create(&t[i], NULL, work, NULL);
	zoo_wait();
}
