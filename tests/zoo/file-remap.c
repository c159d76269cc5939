/*
 * A program that maps a file anew for each request, reads it and unmaps it: the file is in the page
 * cache, and all the time goes into faults.
 * @state sick
 * @group 4
 * @who file-remap
 * @cause maps? .*(again|anew)|unmaps?|munmap
 */
#include "zoo.h"

int main(void)
{
	static char block[1 << 20];
	char path[4096];
	size_t n = 64 * MIB;
	unsigned long sum = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/table", getenv("ZOO_WORK"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 64; i++)
		if (write(fd, block, sizeof(block)) < 0)
			err(1, "write");
	zoo_ready();
	while (!zoo_over) {
		char *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);

		madvise(p, n, MADV_RANDOM);
		for (size_t at = 0; at < n; at += 4096)
			sum += (unsigned char)p[at];
		munmap(p, n);
	}
	return sum == 1;
}
