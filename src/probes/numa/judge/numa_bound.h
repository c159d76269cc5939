/*
 * Memory that a policy or a cpuset keeps on other nodes than the threads that use it. Hint faults
 * do not see it, as balancing leaves it alone: it shows in where its pages are and where the
 * process ran (analysis/placement.h), with the call that bound it where that was seen.
 */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_BOUND_H
#define MEMWHY_PROBES_NUMA_JUDGE_BOUND_H

#include "base/groups.h"
#include "report/view.h"

struct numa_bound {
	struct groups looks; /* process -> how it was when last looked at */
	struct groups calls; /* process -> the last call of each kind */
};

void numa_bound_init(struct numa_bound *b);
void numa_bound_free(struct numa_bound *b);
/* The next interval begins. */
void numa_bound_forget(struct numa_bound *b);
/* 0 also for records of other kinds; or -ENOMEM. */
int numa_bound_take(struct numa_bound *b, const struct rec *r);
/* Adds findings. 0 or -ENOMEM. */
int numa_bound_report(const struct numa_bound *b, struct report *r);
/* The command line of a process, for finding_command(); NULL: not known. */
const char *numa_bound_command(const struct numa_bound *b, const struct report *r, u32 tgid);

#endif
