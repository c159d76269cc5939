/*
 * A database that forks to write a snapshot of its memory, again and again, while it takes writes:
 * each page it writes to meanwhile is copied.
 * @state sick
 * @group 4
 * @who fork-snapshot
 * @cause copy-on-write|copies .* pages
 */
#include "zoo.h"

#define SIZE (512 * MIB)

int main(void)
{
	char *p = zoo_memory(SIZE);

	madvise(p, SIZE, MADV_NOHUGEPAGE);
	memset(p, 1, SIZE);
	zoo_ready();
	while (!zoo_over) {
		pid_t child = fork();

		if (!child) {
			for (int i = 0; i < 20; i++)
				usleep(100000);
			_exit(0);
		}
		for (size_t at = 0; at < SIZE && !zoo_over; at += 4096) {
			p[(at * 7919) % SIZE]++;
			if (at % (64 * 4096) == 0)
				usleep(500);
		}
		waitpid(child, NULL, 0);
	}
}
