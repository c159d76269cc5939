/*
 * Limits of the observed programs that are near: on their address space (ulimit -v), and on the
 * memory of their control group. What memwhy takes of both is little and bounded (tracker/ring.h);
 * where a limit is near even that may be what makes a program fail, so the report says so.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_NEAR_H
#define MEMWHY_PROBES_HEAP_COLLECT_NEAR_H

#include "base/vec.h"
#include "capture/capture.h"
#include "sys/group/cgroup.h"

struct near_limit {
	u32 pid;    /* 0: of a group */
	u64 cgroup; /* 0: of a process */
	u64 limit_bytes;
	u64 used_bytes; /* most that was seen of it */
	char name[128];
};

struct near {
	const struct cgroup_mounts *cgroups; /* may be NULL; borrowed */
	VEC(struct near_limit) seen;
};

/* Looks at one process. -ENOMEM; what is gone has no limits. */
int near_look(struct near *n, u32 pid, const char *comm);
/* Notes on what was near. */
void near_tell(const struct near *n, struct capture *c);
void near_free(struct near *n);

#endif
