/*
 * The page faults of a process and its children, each one, from the kernel's own software events
 * (PERF_COUNT_SW_PAGE_FAULTS_*): they fire where it adds to min_flt and maj_flt. As events of a
 * task they need no privilege and cost others nothing. Knows no blocks.
 */
#ifndef MEMWHY_PROBES_HEAP_RESIDENCE_FAULT_EVENTS_H
#define MEMWHY_PROBES_HEAP_RESIDENCE_FAULT_EVENTS_H

#include <sys/types.h>

#include "base/util.h"

struct fault_events;

enum fault_what { FAULT_IS_MINOR = 1, FAULT_IS_MAJOR, FAULT_IS_EXEC };

struct fault_seen {
	u64 time_ns; /* CLOCK_MONOTONIC, at its end */
	u64 address;
	u64 sp; /* of the thread in user space; 0: not known */
	u32 tgid, tid;
	u8 what; /* enum fault_what; an exec: from here on the process is another program */
};

/* From the next exec of the process on. */
int fault_events_open(pid_t pid, struct fault_events **ret);
/* What came since the last call, of each CPU in turn, until take returns what is not 0. */
int fault_events_read(
	struct fault_events *f, int (*take)(void *arg, const struct fault_seen *s), void *arg);
/* Without privilege those in kernel mode (read(2) into new memory) may not be told. */
bool fault_events_user_only(const struct fault_events *f);
u64 fault_events_lost(const struct fault_events *f);
void fault_events_close(struct fault_events *f);

#endif
