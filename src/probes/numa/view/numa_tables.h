/* The tables of `numa`: accesses by the keys of --by, nodes, moves, what could not be attributed.
 */
#ifndef MEMWHY_PROBES_NUMA_VIEW_TABLES_H
#define MEMWHY_PROBES_NUMA_VIEW_TABLES_H

#include "probes/numa/judge/numa_groups.h"
#include "report/view.h"

enum numa_by { NUMA_BY_SITE, NUMA_BY_OBJECT, NUMA_BY_TYPE, NUMA_BY_FUNCTION, NUMA_BY_THREAD };

extern const struct view_table numa_access_tables[];
extern const struct view_table numa_node_tables[];
u64 numa_tables_without(const struct view_table *t); /* view.without */

/* groups: by site, but with NUMA_BY_OBJECT by object. */
int numa_accesses_report(struct report *r, struct numa_feed *f, const struct numa_groups *groups,
	enum numa_by by, bool stacks);
int numa_nodes_report(
	struct report *r, const struct numa_feed *f, const struct numa_groups *groups);

/* A character from ' ' to '@' for a share of the most there is. */
char numa_shade(u64 n, u64 most);
/* 0 to 9, then letters; '*' beyond. */
char numa_digit(s32 node);

#endif
