/*
 * A runtime that reserves a large address range once, as JVMs, Go and sanitizers do, and uses little.
 * @state healthy
 * @group 8
 */
#include "zoo.h"

int main(void)
{
	size_t n = 64UL << 30;
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	zoo_ready();
	if (p == MAP_FAILED)
		err(1, "mmap");
	for (size_t i = 0; !zoo_over; i++) {
		p[(i % 4096) * 4096] = 1;
		usleep(1000);
	}
}
