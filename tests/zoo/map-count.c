/*
 * Mappings cut into single pages until vm.max_map_count says no, with memory free.
 * @state sick
 * @group 7
 * @who map-count
 * @cause max_map_count
 */
#include "zoo.h"

int main(void)
{
	size_t page = 4096, at = 0, n = 1UL << 30;
	char *p = zoo_memory(n);
	int ready = 0;

	while (!zoo_over) {
		if (at + 2 * page <= n && !mprotect(p + at, page, PROT_READ)) {
			at += 2 * page;
			continue;
		}
		if (!ready)
			zoo_ready();
		ready = 1;
		usleep(20000);
	}
}
