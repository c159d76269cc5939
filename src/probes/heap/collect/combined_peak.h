/*
 * What all processes held at once. Their rings are read one after the other, so the order of what
 * two processes do is known only to a turn of the reader (a few ms). The peak is therefore the
 * largest sum seen in any turn, with an upper bound beside it. For one process both are its own
 * peak.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_COMBINED_PEAK_H
#define MEMWHY_PROBES_HEAP_COLLECT_COMBINED_PEAK_H

#include "probes/heap/collect/tracked_program.h"

struct combined_peak {
	u64 peak_bytes;
	u64 peak_most_bytes; /* not above this */
	u64 peak_ns;
};

/* At the end of a turn. also: a process that has just ended, or NULL. */
void combined_peak_look(struct combined_peak *t, struct tracked_program *const *tracked, size_t n,
	struct heap_process *also);

#endif
