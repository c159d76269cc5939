/*
 * A database's shared buffers: a segment of moderate size that worker processes have attached and
 * use.
 * @state healthy
 * @group 1
 */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "zoo.h"

int main(void)
{
	int id = shmget(IPC_PRIVATE, 128 * MIB, IPC_CREAT | 0600);
	volatile char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (p == (void *)-1)
		err(1, "shmget or shmat");
	shmctl(id, IPC_RMID, NULL);
	memset((void *)p, 1, 128 * MIB);
	for (int i = 0; i < 4; i++)
		if (!fork())
			for (unsigned at = 0;; at = (at + 40961) % (128 * MIB)) {
				p[at]++;
				if (at % 64 == 0)
					usleep(100);
			}
	zoo_ready();
	zoo_wait();
	kill(0, SIGKILL);
}
