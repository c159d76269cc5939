/*
 * A program that may lock 64 KiB (RLIMIT_MEMLOCK) and tries to lock more, as a user without rights.
 * @state sick
 * @group 7
 * @who lock-limit
 * @cause RLIMIT_MEMLOCK
 */
#include <sys/resource.h>

#include "zoo.h"

int main(void)
{
	struct rlimit limit = {64 << 10, 64 << 10};
	void *p = zoo_memory(8 * MIB);

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(65534) || setuid(65534))
		err(1, "setrlimit or setuid");
	zoo_ready();
	while (!zoo_over) {
		if (!mlock(p, 8 * MIB))
			errx(1, "mlock worked");
		usleep(10000);
	}
}
