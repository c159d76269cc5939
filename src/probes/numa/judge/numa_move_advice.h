/*
 * Advice to move the object of a finding: the filled-in `numa try` command, and what the move costs
 * and saves. Private to the findings of numa.
 */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_MOVE_ADVICE_H
#define MEMWHY_PROBES_NUMA_JUDGE_MOVE_ADVICE_H

#include "probes/numa/judge/numa_fixes.h"

/* From the first byte of its first page to behind its last. */
struct page_range {
	u64 start, end;
};

/* The pages of the group's largest object. */
struct page_range numa_largest_pages(const struct advice *a);
/* Does the process of the group's largest object run on, as far as is known? */
bool numa_runs(const struct advice *a);
/* Lines of try and undo: the command that moves pages and measures, where a move is the fix. */
void numa_trial(struct advice *a);
/* Lines of evidence: the time that a move takes, and from how many accesses on it pays. */
void numa_move_cost(struct advice *a);

#endif
