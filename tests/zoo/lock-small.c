/*
 * A key agent that locks a little memory.
 * @state healthy
 * @group 3
 */
#include "zoo.h"

int main(void)
{
	char *p = zoo_memory(4 * MIB);

	mlock(p, 4 * MIB);
	zoo_ready();
	for (int i = 0; !zoo_over; i++) {
		p[i % 4096] = (char)i;
		usleep(10000);
	}
}
