/*
 * A database that maps its buffer with huge pages of the pool and never touches most of it.
 * @state sick
 * @group 3
 * @who huge-reserved
 * @cause reserved .* not touched
 * @needs /proc/sys/vm/nr_hugepages
 */
#include <sys/file.h>

#include "zoo.h"

static void pool_write(const char *text)
{
	int fd = open("/proc/sys/vm/nr_hugepages", O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "nr_hugepages");
	close(fd);
}

int main(void)
{
	int lock = open("/tmp/settings.lock", O_RDWR | O_CREAT, 0600);
	char before[32] = "", *p;
	FILE *f;

	if (lock < 0 || flock(lock, LOCK_EX))
		err(1, "lock");
	f = fopen("/proc/sys/vm/nr_hugepages", "r");
	if (!f || !fgets(before, sizeof(before), f))
		err(1, "nr_hugepages");
	pool_write("320");
	p = mmap(NULL, 600 * MIB, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p != MAP_FAILED)
		p[0] = 1;
	zoo_ready();
	zoo_wait();
	munmap(p, 600 * MIB);
	pool_write(before);
}
