/*
 * A map of bits that is looked up before it is set: each page is first read, as zeroes, then
 * written.
 * @state sick
 * @group 4
 * @who PID
 * @cause had only read before|touches it again
 * @not after fork
 */
#include "zoo.h"

#define BYTES (256UL << 20)

int main(void)
{
	volatile unsigned char *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return 1;
	madvise((void *)map, BYTES, MADV_NOHUGEPAGE);
	zoo_ready();
	while (!zoo_over) {
		for (unsigned long at = 0; at < BYTES; at += 4096)
			if (!map[at])
				map[at] = 1;
		madvise((void *)map, BYTES, MADV_DONTNEED);
	}
}
