/*
 * What the rules on page faults that need no disk have in common: the faults of one kind, and how
 * they are counted. Knows no finding.
 */
#ifndef MEMWHY_RULES_FAULT_STORM_H
#define MEMWHY_RULES_FAULT_STORM_H

#include "probes/faults/faults.h"
#include "probes/processes/processes.h"
#include "report/report.h"

/* Faults of one kind. */
struct storm {
	u64 pages, ns, faults;
	u32 stack; /* of most of them */
	u64 stack_faults, with_stack;
	struct process_path walked; /* the same without frame pointers; count 0: not sampled */
};

/* Did it allocate a page without reading a disk? */
bool storm_takes(const struct faults_agg *r);
/* Did it copy a page that others have too? */
bool storm_copies(const struct faults_agg *r);
void storm_add(struct storm *t, const struct faults_agg *r);
/* Keeps this code path of the process if it has more faults than the one before. */
void storm_walked(struct storm *t, const struct process_path *p);
void storm_merge(struct storm *t, const struct storm *more);
/* The evidence: what: "copied", "touched". Returns whether it has a whole code path. */
bool storm_tell(struct report *r, struct finding *f, const struct storm *t, const char *what);

#endif
