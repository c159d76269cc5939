/*
 * A search for names that do not exist: each miss leaves a negative dentry in the kernel.
 * @state sick
 * @group 2
 * @who lookup-misses
 * @cause dentr
 */
#include "zoo.h"

int main(void)
{
	char path[300];

	for (unsigned long i = 0; !zoo_over; i++) {
		if (i == 200000)
			zoo_ready();
		snprintf(path, sizeof(path), "%s/session-%lu-of-a-cache-that-is-not-there",
			getenv("ZOO_WORK"), i);
		if (!access(path, F_OK))
			errx(1, "there should be no %s", path);
		if (i > 200000 && i % 200 == 0)
			usleep(5000);
	}
}
