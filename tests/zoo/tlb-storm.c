/* A buffer pool flips pages between read-only and writable while workers on all CPUs read it: each
 * change interrupts the other CPUs to flush their TLBs.
 * @state sick
 * @group 5
 * @who tlb-storm
 * @cause TLB (shootdown|flush)
 */
#include <pthread.h>

#include "zoo.h"

#define PAGES 4096

static char *pool;
static volatile unsigned sum;

static void *worker(void *arg)
{
	for (unsigned i = 0;; i++)
		sum += (unsigned)pool[(size_t)(i * 7919 % PAGES) * 4096] + (unsigned)(size_t)arg;
	return NULL;
}

int main(void)
{
	pthread_t t;

	pool = mmap(
		NULL, PAGES * 4096UL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(pool, 1, PAGES * 4096UL);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&t, NULL, worker, (void *)i);
	zoo_ready();
	for (unsigned i = 0; !zoo_over; i++) {
		char *p = pool + (size_t)(i % PAGES) * 4096;

		mprotect(p, 4096, PROT_READ);
		mprotect(p, 4096, PROT_READ | PROT_WRITE);
		*p = 1;
		if (i % 16 == 0)
			usleep(50);
	}
}
