/* What bpf/percpu_where.bpf.c and its loader, capture/watch.c, agree on. */
#ifndef MEMWHY_BPF_PERCPU_WHERE_H
#define MEMWHY_BPF_PERCPU_WHERE_H

#include "base/types.h"

#define PERCPU_WHERE_MAX 8

/* Asked for by the loader (distance), answered by the program on one CPU. */
struct percpu_where {
	s64 distance[PERCPU_WHERE_MAX]; /* from the run queue to the counter; 0: not asked for */
	u64 value[PERCPU_WHERE_MAX];
	u64 rq; /* the run queue */
	u32 cpu;
	u32 reserved;
};

#endif
