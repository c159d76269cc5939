/* What `memwhy numa` shows. */
#ifndef MEMWHY_PROBES_NUMA_VIEW_H
#define MEMWHY_PROBES_NUMA_VIEW_H

#include "probes/numa/feed/numa_feed.h"
#include "report/view.h"

extern const struct view numa_view;

/* numa_flows.c: `numa flow`, of a thread, of an object (its number, or words of its name), or of
 * all. */
struct numa_flow_asked {
	const char *thread, *object;
};

extern const char numa_output[]; /* of the man page */
extern const struct view_table numa_flow_tables[];
int numa_flows_report(struct report *r, struct numa_feed *f, const struct numa_flow_asked *asked);

#endif
