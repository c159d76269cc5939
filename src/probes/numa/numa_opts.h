/* The options of `memwhy numa` beyond those of every command. */
#ifndef MEMWHY_PROBES_NUMA_OPTS_H
#define MEMWHY_PROBES_NUMA_OPTS_H

#include <stdbool.h>

#include "base/types.h"
#include "probes/probe.h"

struct numa_opts {
	const char *source; /* comma-separated, best first; NULL: the probe's own */
	bool balancing;
	u64 scan_ns; /* 0: as it is */
	bool no_heap, all_blocks, heap;
	const char *thread, *object, *topology; /* NULL: not given */
	/* numa try; with --input `to` is a time */
	const char *to;
	bool interleave, undo, yes;
	/* No option: why nothing can be preloaded into the command that it would follow the heap
	 * of; NULL: it can. */
	const char *untracked_why;
};

/* Their table, what of them goes together, and when heap runs beside. */
extern const struct probe_options numa_options;

void numa_beside(const struct request *r, void *opts, struct company *ret);

#endif
