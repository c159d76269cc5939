/*
 * A program whose memory goes up and down by tens of megabytes all the time, and that loses one
 * more megabyte each second beneath that.
 * @state sick
 * @group 8
 * @who leak-in-noise
 * @cause grows? steadily
 * @check 30
 */
#include "zoo.h"

int main(void)
{
	unsigned seed = 7;

	zoo_ready();
	while (!zoo_over) {
		size_t n = (8 + rand_r(&seed) % 24) * MIB;
		char *p = zoo_memory(n), *lost = malloc(MIB / 5);

		memset(p, 1, n);
		memset(lost, 1, MIB / 5);
		usleep(200000);
		munmap(p, n);
	}
}
