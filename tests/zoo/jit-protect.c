/*
 * A just-in-time compiler that switches pages between writable and executable for each function, with
 * threads that run meanwhile.
 * @state sick
 * @group 5
 * @who jit-protect
 * @cause TLB (shootdown|flush)
 */
#include <pthread.h>

#include "zoo.h"

static void *run(void *arg)
{
	volatile unsigned long *n = arg;

	for (;;)
		++*n;
	return NULL;
}

int main(void)
{
	static unsigned long counts[3][64];
	char *p = zoo_memory(4 * MIB);
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, run, counts[i]);
	zoo_ready();
	for (size_t at = 0; !zoo_over; at = (at + 4096) % (4 * MIB)) {
		mprotect(p + at, 4096, PROT_READ | PROT_WRITE);
		p[at]++;
		mprotect(p + at, 4096, PROT_READ | PROT_EXEC);
	}
	_exit(0);
}
