/*
 * A worker in a group fills /dev/shm: its limit is used up by files, not by its heap.
 * @state sick
 * @group 1
 * @who tmpfs-in-limit
 * @cause tmpfs|shared memory|shmem
 * @limit 128M
 * @needs v1
 * @not leak
 */
#include "zoo.h"

#define PATH "/dev/shm/worker-spool"

int main(void)
{
	static char block[1 << 20];
	int fd = open(PATH, O_RDWR | O_CREAT | O_TRUNC, 0600);

	memset(block, 3, sizeof(block));
	for (int i = 0; i < 110; i++)
		if (fd < 0 || write(fd, block, sizeof(block)) != sizeof(block))
			err(1, PATH);
	zoo_ready();
	zoo_wait();
	unlink(PATH);
}
