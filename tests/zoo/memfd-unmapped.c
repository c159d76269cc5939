/*
 * A program that keeps buffers in memfds and maps none of them: its resident memory is small.
 * @state sick
 * @group 1
 * @who memfd-unmapped
 * @cause memfd
 */
#include "zoo.h"

int main(void)
{
	static char block[1 << 20];

	memset(block, 7, sizeof(block));
	for (int i = 0; i < 16; i++) {
		int fd = memfd_create("frame-buffer", 0);

		for (int n = 0; n < 48; n++)
			if (fd < 0 || write(fd, block, sizeof(block)) != sizeof(block))
				err(1, "memfd");
	}
	zoo_ready();
	zoo_wait();
}
