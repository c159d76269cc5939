/* Compaction: what the BPF programs, the probe and its views agree on, and the records. */
#ifndef MEMWHY_PROBES_COMPACTION_H
#define MEMWHY_PROBES_COMPACTION_H

#include "bpf/shared.h"

/* Who compacts, and why. On disk. */
enum compaction_kind {
	COMPACTION_OTHER = 0,
	COMPACTION_DIRECT,     /* a task, for its own allocation */
	COMPACTION_KHUGEPAGED, /* the same, by khugepaged */
	COMPACTION_KCOMPACTD,  /* woken by kswapd, for an order */
	COMPACTION_PROACTIVE,  /* kcompactd by itself: vm.compaction_proactiveness */
	COMPACTION_REQUESTED,  /* vm.compact_memory, or the file "compact" of a node */
	COMPACTION_KIND_N,
};

#define COMPACTION_ORDER_ALL (-1)       /* the whole zone, for no order (compact_control.order) */
#define COMPACTION_ORDER_UNKNOWN (-128) /* no event told */
#define COMPACTION_NODE_UNKNOWN (-1)
#define COMPACTION_ZONE_UNKNOWN 255
#define COMPACTION_ORDERS_MAX 20
#define COMPACTION_WOULD_SUCCEED (-1000) /* fragmentation index: a block of the order is free */

struct compaction_config {
	u64 min_ns;  /* with --each: runs shorter than this are not sent */
	u32 orders;  /* of a free area */
	u8 success;  /* COMPACT_SUCCESS where there is no BTF */
	u8 suitable; /* see attempt_reset */
	u8 reserved[2];
};

/* A zone, and what for. zone_start: where node and zone are not known, the zone's first page. */
struct compaction_zone_key {
	u64 zone_start;
	s16 node;
	u8 zone;
	s8 order;
	u32 reserved;
};

/* Of the table of runs. */
struct compaction_key {
	u32 tgid, tid;      /* tid: 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	struct compaction_zone_key zone;
	u8 kind;
	u8 sync;
	u8 status; /* enum compact_result of the running kernel */
	u8 reserved[5];
};

struct compaction_attempt_key {
	u32 tgid, tid;
	u8 kind;
	u8 sync;
	s8 order;
	u8 reserved[5];
};

struct kcompactd_key {
	u32 node;
	u32 reserved;
};

/* The meaning of agg_value.sum[] in each table. */
enum { RUN_CPU_NS, RUN_MIGRATE_SCANNED, RUN_FREE_SCANNED, RUN_ISOLATED, RUN_MIGRATED, RUN_FAILED };
enum {
	ATTEMPT_BEGUN,
	ATTEMPT_STALLED,
	ATTEMPT_DEFERRED, /* before it stalled, or it did not */
	ATTEMPT_BOTH,     /* stalled after all */
	ATTEMPT_SUCCEEDED,
};
enum { ZONE_KNOWN, ZONE_ABOVE_HIGH, ZONE_INDEXED, ZONE_INDEX, ZONE_FREE, ZONE_HIGH };
enum { DEFERRAL_SKIPPED, DEFERRAL_FAILED, DEFERRAL_RESET };
enum { KCOMPACTD_WAKES, KCOMPACTD_WAKEUPS, KCOMPACTD_CPU_NS };

enum compaction_flags {
	COMPACTION_STATE = 1,   /* free pages and watermarks are known */
	COMPACTION_INDEX = 2,   /* and the fragmentation index of the order */
	COMPACTION_SCANNED = 4, /* pages scanned are known */
	COMPACTION_PAGES = 8,   /* pages isolated and migrated are known */
};

/* In the ring, one a run (--each); the same on disk but for the stacks, which become one. The
 * time of the record is the end of the run. */
struct compaction_run {
	struct rec h;
	u32 tgid, tid;
	u32 ustack, kstack; /* on disk: ustack is a REC_STACK, kstack is 0 */
	u64 ns, cpu_ns;
	u64 migrate_scanned, free_scanned;
	u64 isolated, migrated, failed;
	u64 free_pages, min_pages, low_pages, high_pages; /* of the zone when it began */
	u64 cgroup;
	u64 zone_start;
	s32 index; /* fragmentation index for the order, in 1/1000 */
	s32 node, order;
	u8 zone;
	u8 kind;
	u8 sync;
	u8 status;
	u8 flags; /* enum compaction_flags */
	u8 reserved[7];
	char comm[COMM_LEN];
};

/* On disk: what was counted for one key since the last record of it. max_ns: since the start. */
struct compaction_agg {
	struct rec h;
	u32 tgid, tid;
	u32 stack; /* REC_STACK */
	s32 node, order;
	u8 zone;
	u8 kind;
	u8 sync;
	u8 status;
	u64 count, total_ns, max_ns;
	u64 cpu_ns;
	u64 migrate_scanned, free_scanned;
	u64 isolated, migrated, failed;
	u64 cgroup;
	char comm[COMM_LEN];
	u32 hist[AGG_SLOTS];
};

/* Allocations that compacted directly: what /proc/vmstat counts as compact_stall and the like. */
struct compaction_attempts {
	struct rec h;
	u32 tgid, tid;
	s32 order;
	u8 kind;
	u8 sync;
	u8 reserved[2];
	u64 begun;
	u64 stalled;   /* of these, with a zone that was compacted or found good */
	u64 deferred;  /* ... with a zone that was deferred, and none like that before */
	u64 both;      /* of these, one came after */
	u64 succeeded; /* got their page */
	u64 cgroup;
	char comm[COMM_LEN];
};

/* A zone in the moments in which runs for an order began. */
struct compaction_zone {
	struct rec h;
	s32 node, order;
	u8 zone;
	u8 reserved[7];
	u64 runs;
	u64 known;      /* runs of which the following is known */
	u64 above_high; /* of these, with more free pages than the high watermark */
	u64 indexed;    /* runs whose fragmentation index is known */
	s64 index_sum;  /* of these, in 1/1000 */
	u64 free_sum, high_sum;
};

struct compaction_deferrals {
	struct rec h;
	s32 node, order;
	u8 zone;
	u8 reserved[7];
	u64 skipped; /* compaction was not tried, as it had failed before */
	u64 failed;  /* it failed, and will be put off for longer */
	u64 reset;   /* it succeeded, or is expected to */
};

struct compaction_kcompactd {
	struct rec h;
	u32 node;
	u32 reserved;
	u64 wakes;   /* it set to work: compact_daemon_wake in /proc/vmstat */
	u64 wakeups; /* it was woken by others */
	u64 sleeps;
	u64 awake_ns, max_ns; /* from the work to the sleep that follows */
	u64 cpu_ns;
	u32 hist[AGG_SLOTS];
};

#endif
