/*
 * malloc told to keep nothing (M_TRIM_THRESHOLD 0, M_MMAP_THRESHOLD 64 KiB): each request maps, touches
 * and unmaps its buffers.
 * @state sick
 * @group 4
 * @who heap-trim
 * @cause gives memory back.*touches it again
 */
#include <malloc.h>

#include "zoo.h"

int main(void)
{
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	mallopt(M_TRIM_THRESHOLD, 0);
	zoo_ready();
	while (!zoo_over) {
		char *p[8];

		for (int i = 0; i < 8; i++) {
			p[i] = malloc(256 << 10);
			memset(p[i], i, 256 << 10);
		}
		for (int i = 0; i < 8; i++)
			free(p[i]);
		usleep(200);
	}
}
