/*
 * A program that ended without removing its System V segments: pages that no process has.
 * @state sick
 * @group 1
 * @who shmid|System V
 * @cause attached
 */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "zoo.h"

#define SEGMENTS 3

int main(void)
{
	int id[SEGMENTS];

	for (int i = 0; i < SEGMENTS; i++) {
		void *p;

		id[i] = shmget(IPC_PRIVATE, 256 * MIB, IPC_CREAT | 0600);
		p = id[i] < 0 ? (void *)-1 : shmat(id[i], NULL, 0);
		if (p == (void *)-1)
			err(1, "shmget or shmat");
		memset(p, 1, 256 * MIB);
		shmdt(p);
	}
	zoo_ready();
	zoo_wait();
	for (int i = 0; i < SEGMENTS; i++)
		shmctl(id[i], IPC_RMID, NULL);
}
