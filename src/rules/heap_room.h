/*
 * Heaps of runtimes (Java, Node.js, Go) against the limit of their control group: a heap that may
 * become larger than the group meets the limit of the group first, and no collection makes room
 * before. Owns who may have how much; knows no finding.
 */
#ifndef MEMWHY_RULES_HEAP_ROOM_H
#define MEMWHY_RULES_HEAP_ROOM_H

#include "base/groups.h"
#include "probes/cgroups/cgroups.h"
#include "probes/processes/processes.h"
#include "report/report.h"

/* The heaps of one group. */
struct heap_room {
	u64 heap_bytes; /* that all of them may have */
	u64 need_bytes; /* with what runtimes take beside it, and with the group's other memory */
	u32 tgid;       /* the one that may have most, and how much */
	u64 most_bytes;
	bool soft; /* it is GOMEMLIMIT */
};

/* heaps: of tgid */
void heap_room_init(struct groups *heaps);
int heap_room_feed(struct groups *heaps, const struct process_memory *m);
/* May the heaps of the group become larger than its limit has room for? */
bool heap_room_exceeds(const struct groups *heaps, const struct report *r,
	const struct cgroup_usage *cg, struct heap_room *ret);
/* Says so in the title and the evidence. */
void heap_room_tell(struct report *r, struct finding *f, const struct heap_room *h,
	const struct cgroup_usage *cg);
/* What to try: a limit of at least so many bytes, and of what the heaps need; or a smaller heap. */
void heap_room_try(struct report *r, struct finding *f, const struct heap_room *h,
	const struct cgroup_usage *cg, const char *dir, u64 least_bytes);

#endif
