/*
 * Private to the findings of numa: what to do about a pattern, in words and as calls and commands
 * with their numbers filled in.
 */
#ifndef MEMWHY_PROBES_NUMA_FIXES_H
#define MEMWHY_PROBES_NUMA_FIXES_H

#include "base/units.h"
#include "probes/numa/numa_patterns.h"
#include "report/report.h"

/* A finding that is being written. */
struct advice {
	struct report *r;
	const struct numa_feed *f;
	const struct numa_groups *groups;
	const struct numa_group *g;
	const struct numa_verdict *v;
	struct finding *to;
	const char *name;
	char bytes[UNIT_BUF];
	struct object largest;
};

/* Why it is so, what to try, and how that is undone. */
void numa_fix(struct advice *a);

/* Is so much of it elsewhere that interleaving changes little? */
bool numa_spread_already(const struct advice *a);

#endif
