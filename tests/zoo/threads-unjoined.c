/*
 * Threads that end and that nobody joins: their stacks stay mapped, ever more of them.
 * @state sick
 * @group 8
 * @who threads-unjoine
 * @cause stacks of threads that have ended
 */
#include <pthread.h>

#include "zoo.h"

static void *work(void *arg)
{
	char buf[32 << 10];

	memset(buf, 1, sizeof(buf));
	__asm__ volatile("" : : "r"(buf) : "memory");
	return arg;
}

int main(void)
{
	for (int n = 0; !zoo_over; n++) {
		pthread_t t;

		if (n < 12000 && pthread_create(&t, NULL, work, NULL))
			err(1, "pthread_create");
		if (n == 2000)
			zoo_ready();
		usleep(n < 2000 ? 500 : 5000);
	}
}
