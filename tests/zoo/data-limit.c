/*
 * A service started with a limit on its data (ulimit -d): malloc fails while memory is free.
 * @state sick
 * @group 7
 * @who data-limit
 * @cause RLIMIT_DATA
 */
#include <sys/resource.h>

#include "zoo.h"

int main(void)
{
	struct rlimit limit = {64 * MIB, 64 * MIB};
	char *kept[200];
	int n = 0;

	setrlimit(RLIMIT_DATA, &limit);
	zoo_ready();
	while (!zoo_over) {
		char *p = malloc(MIB);

		if (p && n < 200)
			memset(kept[n++] = p, 1, MIB);
		usleep(20000);
	}
}
