/*
 * Between the tracker's times and ours: the time stamp counter, in units of 4 cycles, and
 * CLOCK_MONOTONIC. Both are read together now and then; in between, and for some seconds after, the
 * counter runs evenly. Good to about a microsecond.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_TICKS_H
#define MEMWHY_PROBES_HEAP_COLLECT_TICKS_H

#include "base/types.h"

struct ticks {
	u64 ticks, ns;           /* read together, last */
	u64 base_ticks, base_ns; /* some seconds before, for the rate */
	u64 next_ticks, next_ns; /* the base to come */
};

/* Reads both. */
void ticks_look(struct ticks *t);
u64 ticks_at(const struct ticks *t, u64 ns);
u64 ticks_ns(const struct ticks *t, u64 ticks);

#endif
