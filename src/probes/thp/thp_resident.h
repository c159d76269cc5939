/* Private to the thp probe: which processes have huge pages, and how much of them is waste. */
#ifndef MEMWHY_PROBES_THP_RESIDENT_H
#define MEMWHY_PROBES_THP_RESIDENT_H

#include "capture/capture.h"
#include "capture/proc_scope.h"
#include "sys/group/cgroup.h"
#include "sys/process/smaps.h"

struct big {
	u64 resident_bytes;
	u32 pid;
};

/* To be zeroed before its first use. */
struct resident {
	struct proc_scope scope;
	struct cgroup_mounts mounts;
	struct cgroup group;
	struct str text;
	struct smaps maps;
	VEC(struct big) big;
	u32 unreadable; /* processes whose memory may not be read */
	u32 left_out;   /* processes too big to be walked */
	bool told;
};

int resident_open(struct capture *c, struct resident *r);
/* Sends a record for each of the biggest processes that has huge pages. */
int resident_look(struct capture *c, struct resident *r);
void resident_close(struct resident *r);

#endif
