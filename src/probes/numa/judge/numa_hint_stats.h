/*
 * What hint faults reveal about how nodes use an object. Private to numa_groups.c. A page faults at
 * most once per scan, and the kernel moves pages because of these faults; so neither their order
 * nor their share of remote accesses is that of the program. What does hold:
 *
 * - A page whose faults always come from one node is used by that node.
 * - Nodes whose faults mix within 50 ms use the object at the same time: a scan unmaps all of its
 *   pages at once, and one node alone would take all of these faults.
 * - Pages that move back and forth between nodes while several nodes use the object are shared.
 *   Pages that one node takes over while it is alone (such as one that merges what others made), or
 *   for good, need not be.
 * - Threads run at the same time if the sum of their CPU times grows faster than the clock.
 * - A page's first fault tells the node where the program had put it.
 */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_HINT_STATS_H
#define MEMWHY_PROBES_NUMA_JUDGE_HINT_STATS_H

#include "probes/numa/judge/numa_groups.h"

struct hint_fault {
	u32 page; /* its number */
	s8 node;
};

struct hint_stats_work {
	struct groups pages;           /* of the object at hand: page -> struct hint_page */
	struct groups threads;         /* of the group: thread -> struct hint_thread */
	struct groups ways;            /* from a node to another -> pages */
	VEC(struct hint_fault) window; /* the faults of the window at hand */
	struct numa_hint_stats sum;
	double mixed;
};

void hint_stats_begin(struct hint_stats_work *w);
/* 0 or -ENOMEM */
int hint_stats_object(struct numa_feed *f, u32 object, struct hint_stats_work *w);
int hint_stats_finish(struct numa_feed *f, struct hint_stats_work *w, struct numa_group *g);
void hint_stats_free(struct hint_stats_work *w);

#endif
