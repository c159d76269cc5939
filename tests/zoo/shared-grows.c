/*
 * A program whose shared memory grows all the time: a ring of results that nobody takes.
 * @state sick
 * @group 8
 * @who shared-grows
 * @cause grow
 * @check 12
 */
#include "zoo.h"

int main(void)
{
	size_t size = 2048 * MIB, at = 0;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	zoo_ready();
	for (; !zoo_over && at < size; at += MIB / 2) {
		memset(p + at, 1, MIB / 2);
		usleep(50000);
	}
	zoo_wait();
}
