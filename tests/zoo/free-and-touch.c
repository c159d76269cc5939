/*
 * An allocator with an eager decay: MADV_FREE under a small limit of its group, then the same pages
 * again.
 * @state sick
 * @group 4
 * @who free-and-touch
 * @cause (MADV_FREE|MADV_DONTNEED|gives memory back).*touches it again
 */
#include "zoo.h"

int main(void)
{
	size_t n = 32 * MIB;
	char *p = zoo_memory(n);

	madvise(p, n, MADV_NOHUGEPAGE);
	zoo_ready();
	while (!zoo_over) {
		for (size_t at = 0; at < n; at += 4096)
			p[at] = 1;
		for (size_t at = 0; at < n; at += MIB)
			madvise(p + at, MIB, MADV_DONTNEED);
	}
}
