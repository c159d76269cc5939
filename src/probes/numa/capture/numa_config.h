/* Private to the capture of numa: what its BPF programs and its loader agree on. */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_CONFIG_H
#define MEMWHY_PROBES_NUMA_CAPTURE_CONFIG_H

#include "probes/numa/numa.h"

#define NUMA_CPUS_TOLD 1024  /* whose nodes the programs know */
#define NUMA_TOUCH_PERIOD 64 /* of page faults, one is a sample */

struct numa_config {
	s32 only_node;  /* the one that has memory; -1: there are more */
	u32 wake_bytes; /* of scope_config, for a ring that is large without --each */
};

/* What the kernel's counters of a CPU were when they were last looked at. */
struct numa_counters {
	u64 hints, moved;     /* 0: not yet */
	u64 told, told_pages; /* of what they rose by, what was sent or counted as lost */
};

/* In the ring: with the task, to be named. What it is, is in the header. */
struct numa_event {
	union {
		struct rec h;
		struct numa_sample sample;
		struct numa_move move;
		struct numa_mapping mapping;
		struct numa_task task;
		struct numa_thread_move thread;
		struct numa_policy policy;
	};
	u64 cgroup;
	u64 tls; /* the thread pointer; 0: not known */
	char comm[COMM_LEN];
};

#endif
