/*
 * A hash table with MADV_HUGEPAGE of which one page in each huge page is used: most of its memory is
 * zeroes.
 * @state sick
 * @group 10
 * @who sparse-huge
 * @cause huge page
 * @needs /sys/kernel/mm/transparent_hugepage/enabled
 */
#include "zoo.h"

int main(void)
{
	size_t n = 800 * MIB;
	char *p = aligned_alloc(2 * MIB, n);

	madvise(p, n, MADV_HUGEPAGE);
	for (size_t at = 0; at < n; at += 2 * MIB)
		p[at + 4096] = 1;
	zoo_ready();
	zoo_wait();
}
