/*
 * The last minute of the machine, in a fixed amount of memory: what processes, control groups and
 * the machine's totals used. Fed with the records of the samplers that run beside the oom probe;
 * asked, when something was killed, who grew.
 */
#ifndef MEMWHY_PROBES_OOM_HISTORY_H
#define MEMWHY_PROBES_OOM_HISTORY_H

#include <stdbool.h>

#include "event/wire.h"

#define HISTORY_NS (60ULL * 1000000000)
#define HISTORY_POINTS 64 /* at most one a second, and the newest */
#define HISTORY_PROCESSES 256
#define HISTORY_CGROUPS 64
#define HISTORY_SLABS 8
#define HISTORY_NAME 64

struct history_point {
	u64 time_ns;
	u64 bytes; /* of a process: resident and in swap */
	u64 swap_bytes;
};

struct history_series {
	u64 id, start_ns; /* a process and its start, or a control group; 0: not in use */
	u64 cgroup;
	u32 n;    /* points in use */
	u32 last; /* the newest of them */
	char comm[COMM_LEN];
	struct history_point points[HISTORY_POINTS]; /* a ring */
};

/* What of /proc/meminfo is kept. */
enum history_value {
	VALUE_TOTAL,
	VALUE_FREE,
	VALUE_AVAILABLE,
	VALUE_ANON,
	VALUE_CACHED,
	VALUE_SHMEM,
	VALUE_SLAB,
	VALUE_SLAB_FIXED,
	VALUE_PAGE_TABLES,
	VALUE_KERNEL_STACK,
	VALUE_MLOCKED,
	VALUE_SWAP_TOTAL,
	VALUE_SWAP_FREE,
	VALUE_N,
};

const char *history_value_name(u32 value); /* "MemFree" */

struct history_slab {
	u64 bytes, first_bytes; /* first_bytes: at the start of the recording */
	char name[HISTORY_NAME];
};

/* Shares of time in 1/100 percent, over 10 s. */
struct history_pressure {
	bool known;
	u32 some, full;
};

/* By enum system_resource: memory, io, cpu. */
#define HISTORY_RESOURCES 4

struct history {
	struct history_series processes[HISTORY_PROCESSES];
	struct history_series cgroups[HISTORY_CGROUPS];
	struct history_series values[VALUE_N];
	struct history_slab slabs[HISTORY_SLABS]; /* the biggest, biggest first */
	struct history_pressure pressure[HISTORY_RESOURCES];
};

/* How much something was, and how it came there. */
struct growth {
	bool known;
	u64 first_bytes, bytes; /* at the first and the last sample of the minute before */
	u64 swap_bytes;         /* at the last */
	u64 span_ns;            /* between the two */
	s64 per_second;         /* over the last 5 s of that, or all of it where that is less */
};

void history_feed(struct history *h, const struct rec *r);
/* The minute up to at_ns. With bytes_now not 0 that is what it was at at_ns itself. */
struct growth history_growth(const struct history_series *s, u64 at_ns, u64 bytes_now);
/* NULL when it was not seen. start_ns 0: any. */
const struct history_series *history_process(const struct history *h, u32 tgid, u64 start_ns);
const struct history_series *history_cgroup(const struct history *h, u64 id);

#endif
