/*
 * An allocator with an eager decay: it gives the pages of each request back by MADV_DONTNEED, and
 * the next request touches them again.
 * @state sick
 * @group 4
 * @who dontneed-churn
 * @cause MADV_DONTNEED.*touches it again|gives memory back
 */
#include "zoo.h"

#define SIZE (32 * MIB)

__attribute__((noinline)) static void request(char *p)
{
	for (size_t at = 0; at < SIZE; at += 4096)
		p[at] = 1;
}

__attribute__((noinline)) static void decay(char *p)
{
	if (madvise(p, SIZE, MADV_DONTNEED))
		err(1, "madvise");
}

int main(void)
{
	char *p = zoo_memory(SIZE);

	madvise(p, SIZE, MADV_NOHUGEPAGE);
	zoo_ready();
	while (!zoo_over) {
		request(p);
		usleep(5000);
		decay(p);
	}
}
