/*
 * A store that keeps its records in a mapped file, and syncs the page of each after it has changed
 * it.
 * @state sick
 * @group 6
 * @who msync-each
 * @cause msync
 */
#include "zoo.h"

#define BYTES (64 * MIB)

int main(void)
{
	char path[4096];
	char *p;
	int fd;

	snprintf(path, sizeof(path), "%s/records", getenv("ZOO_WORK"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, BYTES))
		return 1;
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	zoo_ready();
	for (size_t at = 0; !zoo_over; at = (at + 5 * 4096) % BYTES) {
		p[at]++;
		msync(p + at, 4096, MS_SYNC);
	}
	return 0;
}
