/*
 * Write watchpoints on the kernel's own counters of events, for what it counts but traces nowhere:
 * the program runs in the task that raises the counter. Owns how the counters are found on each
 * CPU, and the proof that they are the right ones. A CPU has four debug registers.
 */
#ifndef MEMWHY_CAPTURE_WATCH_H
#define MEMWHY_CAPTURE_WATCH_H

#include <linux/perf_event.h>

#include "base/util.h"

/* By their names in /proc/vmstat. */
enum watch {
	WATCH_THP_FAULT_ALLOC,
	WATCH_THP_FAULT_FALLBACK,
	WATCH_THP_SPLIT_PMD,
	WATCH_THP_SPLIT_PAGE,
	WATCH_NUMA_HINT_FAULTS,
	WATCH_NUMA_PAGES_MIGRATED,
	WATCHES,
};

/* An attach_perf's `aim`, with an enum watch as attr->config. -ENODATA: the address cannot be found
 * here. */
int watch_aim(struct perf_event_attr *attr, int cpu);

/* Can all of these be watched at once? -ENOSPC: the debug registers of a CPU are taken. */
int watch_try(const enum watch *list, size_t n);

/* For attach_method.perf. */
#define WATCHPOINT(prog_, watch_)                              \
	{                                                      \
		prog_, PERF_TYPE_BREAKPOINT, watch_, watch_aim \
	}

#endif
