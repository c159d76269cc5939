/*
 * Private to numa: where the memory of the processes in scope is, by /proc/PID/numa_maps, and where
 * their threads ran, at the end of each interval. "Where is it", without "who touches it". Owns the
 * bound of its cost.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_PLACE_H
#define MEMWHY_PROBES_NUMA_CAPTURE_PLACE_H

#include "base/groups.h"
#include "capture/capture.h"
#include "sys/host.h"

/* State of the sampler, zeroed. */
struct numa_places {
	u64 next_ns;
	struct host *host; /* NULL: one node */
	bool begun;
	struct groups ran; /* see whereabouts_read() */
};

/* A sampler's `open`, `sample`, `close` and `survey`. */
int numa_place_open(struct numa_places *p);
void numa_place_close(void *state);
int numa_place_sample(struct capture *c, void *state);
int numa_place_survey(struct capture *c);
/* The node that all memory is on; -1: there are several. */
s32 numa_only_node(void);

#endif
