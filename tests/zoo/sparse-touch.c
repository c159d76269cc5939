/*
 * One byte touched in each 2 MiB of a large mapping, over and over elsewhere: page tables as big as
 * the data.
 * @state sick
 * @group 2
 * @who sparse-touch
 * @cause page table
 */
#include "zoo.h"

int main(void)
{
	size_t n = 256UL << 30;
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	madvise(p, n, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < n; at += 2 * MIB)
		(void)*(volatile char *)(p + at);
	zoo_ready();
	zoo_wait();
}
