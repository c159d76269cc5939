/*
 * A profiler that maps far too large buffers for its events: pages of the kernel that no counter
 * shows.
 * @state sick
 * @group 2
 * @who perf-buffers
 * @cause perf event
 * @not no counter
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "zoo.h"

int main(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (int i = 0; i < 16; i++) {
		struct perf_event_attr a = {.size = sizeof(a),
			.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_DUMMY};
		int fd = (int)syscall(SYS_perf_event_open, &a, -1, i % cpus, -1, 0);

		/* A page that describes it, and a power of two of pages. */
		if (fd < 0 || mmap(NULL, 64 * MIB + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				      0) == MAP_FAILED)
			err(1, "perf event");
	}
	zoo_ready();
	zoo_wait();
}
