/*
 * Each request maps a buffer, uses one page of it and forgets to unmap it.
 * @state sick
 * @group 8
 * @who mappings-leaked
 * @cause maps address space that it does not touch|mappings leaked
 */
#include "zoo.h"

int main(void)
{
	zoo_ready();
	while (!zoo_over) {
		*(char *)zoo_memory(8 * MIB) = 1;
		usleep(20000);
	}
}
