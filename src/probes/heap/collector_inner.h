/* Private to the collector's parts: what it is made of. */
#ifndef MEMWHY_PROBES_HEAP_COLLECTOR_INNER_H
#define MEMWHY_PROBES_HEAP_COLLECTOR_INNER_H

#include <pthread.h>

#include "probes/heap/answers.h"
#include "probes/heap/collector.h"
#include "probes/heap/together.h"

struct collector {
	pthread_t thread;
	pthread_mutex_t lock;
	int epoll, news_fd, stop_fd, socket;
	u32 wait_ms;
	u64 sample_bytes;
	const struct cgroup_mounts *cgroups;
	bool running, stop;
	int error;
	VEC(struct image *) images;
	VEC(struct heap_process *) processes; /* by id - 1 */
	u32 n_images, n_given_up;
	u32 n_gone; /* processes that have gone, but not ended */
	news_buffer news;
	u64 swept_ms;
	struct heap_together together;
	struct answers answers;
};

#endif
