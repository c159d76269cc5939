/*
 * A server that loads its data at the start and then works on it: all pages are touched once.
 * @state healthy
 * @group 4
 */
#include "zoo.h"

#define SIZE (400 * MIB)

int main(void)
{
	volatile char *p = zoo_memory(SIZE);

	zoo_ready();
	for (size_t at = 0; at < SIZE; at += 4096) {
		p[at] = 1;
		if (at % (1024 * 4096) == 0)
			usleep(20000);
	}
	while (!zoo_over) {
		for (size_t at = 0; at < SIZE; at += 64 * 4096)
			p[at]++;
		usleep(1000);
	}
}
