/*
 * A cache that fills to its bound in some seconds and is then used.
 * @state healthy
 * @group 8
 */
#include "zoo.h"

#define SIZE (300 * MIB)

int main(void)
{
	volatile char *p = zoo_memory(SIZE);
	size_t filled = 0;

	zoo_ready();
	while (!zoo_over) {
		if (filled < SIZE) {
			memset((void *)(p + filled), 1, MIB);
			filled += MIB;
		}
		for (size_t at = 0; at < filled; at += 16 * 4096)
			p[at]++;
		usleep(12000);
	}
}
