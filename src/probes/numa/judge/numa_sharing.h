/* Private to numa_groups.c: how the nodes that touch an object share its lines, pages and itself.
 */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_SHARING_H
#define MEMWHY_PROBES_NUMA_JUDGE_SHARING_H

#include "probes/numa/judge/numa_groups.h"

struct numa_sharing_work {
	VEC(u64) places;       /* of one object: address << 6 | node */
	u64 from[NUMA_NODES];  /* of the group */
	u64 alone[NUMA_NODES]; /* accesses that are alone in their part */
	double mixed[NUMA_UNITS];
	u64 samples[NUMA_UNITS];
	u64 switches, pairs, turns;
	u64 placed_remote;
};

int numa_sharing_object(
	struct numa_feed *f, u32 object, const struct object *o, struct numa_sharing_work *w);
void numa_sharing_finish(const struct numa_sharing_work *w, struct numa_group *g);
void numa_sharing_free(struct numa_sharing_work *w);

#endif
