/*
 * Small System V segments that nobody removes, up to kernel.shmmni: shmget fails while memory is free.
 * @state sick
 * @group 7
 * @who segments-limit
 * @cause shmmni|segments
 */
#include <sys/shm.h>

#include "zoo.h"

static int ids[5000];

int main(void)
{
	int n = 0;

	while (n < 5000 && (ids[n] = shmget(IPC_PRIVATE, 4096, 0600)) >= 0)
		n++;
	zoo_ready();
	while (!zoo_over) {
		if (shmget(IPC_PRIVATE, 4096, 0600) < 0)
			usleep(10000);
	}
	while (n--)
		shmctl(ids[n], IPC_RMID, NULL);
}
