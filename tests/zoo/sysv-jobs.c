/*
 * Short jobs that each leave a System V segment behind: shared memory that grows and that no
 * process has open or mapped, which is no matter of files without a name.
 * @state sick
 * @group 8
 * @who System V
 * @cause attached.*more a second
 * @not files that no process has open
 */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "zoo.h"

#define JOBS_MOST 120

static void job(int id)
{
	void *p = shmat(id, NULL, 0);

	if (p == (void *)-1)
		_exit(1);
	memset(p, 1, 8 * MIB);
	_exit(0);
}

int main(void)
{
	int id[JOBS_MOST], n = 0;

	for (; n < JOBS_MOST && !zoo_over; n++) {
		id[n] = shmget(IPC_PRIVATE, 8 * MIB, IPC_CREAT | 0600);
		if (id[n] < 0)
			err(1, "shmget");
		if (!fork())
			job(id[n]);
		wait(NULL);
		if (n == 10)
			zoo_ready();
		usleep(300000);
	}
	zoo_wait();
	while (n)
		shmctl(id[--n], IPC_RMID, NULL);
}
