/* Compaction: what the BPF programs, the probe and its views agree on, and the records. */
#ifndef MEMWHY_PROBES_COMPACTION_H
#define MEMWHY_PROBES_COMPACTION_H

#include "bpf/shared.h"

#define COMPACTION_FLAGS_HELP                                                            \
	"known are: 1 free pages and watermarks, 2 the fragmentation index, 4 scanned, " \
	"8 isolated, migrated and failed"

#define COMPACTION_KIND_HELP \
	"1 direct, 2 khugepaged, 3 kcompactd, 4 proactive, 5 requested, 0 other"

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

/* Key of the table of runs. */
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
#define COMPACTION_RUN_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                            \
	F(R, u32, tid, ID, "thread")                                                              \
	F(R, u32, ustack, STACK, "where compaction was entered")                                  \
	F(R, u32, kstack, HIDDEN, "")                                                             \
	F(R, u64, ns, NS, "duration, up to the record's time")                                    \
	F(R, u64, cpu_ns, NS, "of the time, on a CPU; 0: not known")                              \
	F(R, u64, migrate_scanned, PAGES, "as compact_migrate_scanned counts")                    \
	F(R, u64, free_scanned, PAGES, "as compact_free_scanned counts")                          \
	F(R, u64, isolated, PAGES, "as compact_isolated counts")                                  \
	F(R, u64, migrated, PAGES, "pages moved")                                                 \
	F(R, u64, failed, PAGES, "pages that could not be moved")                                 \
	F(R, u64, free_pages, PAGES, "free in the zone when it began")                            \
	F(R, u64, min_pages, PAGES, "min watermark then, with its boost")                         \
	F(R, u64, low_pages, PAGES, "low watermark")                                              \
	F(R, u64, high_pages, PAGES, "high watermark")                                            \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                    \
	F(R, u64, zone_start, HIDDEN, "")                                                         \
	F(R, s32, index, PERMILLE,                                                                \
		"fragmentation index for the order; -1000: a free block is there")                \
	F(R, s32, node, ID, "NUMA node; -1: not known")                                           \
	F(R, s32, order, ID, "order to make free blocks of; -1: the whole zone, -128: not known") \
	F(R, u8, zone, ID, "number of the zone in its node (enum zone); 255: not known")          \
	F(R, u8, kind, ID, COMPACTION_KIND_HELP)                                                  \
	F(R, u8, sync, ID, "0 async, 1 sync")                                                     \
	F(R, u8, status, ID, "result (enum compact_result)")                                      \
	F(R, u8, flags, HEX, COMPACTION_FLAGS_HELP) /* enum compaction_flags */                   \
	F(R, u8[7], reserved, HIDDEN, "")                                                         \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(compaction_run, COMPACTION_RUN_FIELDS);

/* On disk: what was counted for one key since the last record of it. max_ns: since the start. */
#define COMPACTION_AGG_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                            \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                                    \
	F(R, u32, stack, STACK, "where compaction was entered")                                   \
	F(R, s32, node, ID, "NUMA node; -1: not known")                                           \
	F(R, s32, order, ID, "order to make free blocks of; -1: the whole zone, -128: not known") \
	F(R, u8, zone, ID, "number of the zone in its node (enum zone); 255: not known")          \
	F(R, u8, kind, ID, COMPACTION_KIND_HELP)                                                  \
	F(R, u8, sync, ID, "0 async, 1 sync")                                                     \
	F(R, u8, status, ID, "result (enum compact_result)")                                      \
	F(R, u64, count, COUNT, "runs that ended")                                                \
	F(R, u64, total_ns, NS, "their time")                                                     \
	F(R, u64, max_ns, NS, "the longest since the start")                                      \
	F(R, u64, cpu_ns, NS, "of the time, on a CPU; 0: not known")                              \
	F(R, u64, migrate_scanned, PAGES, "as compact_migrate_scanned counts")                    \
	F(R, u64, free_scanned, PAGES, "as compact_free_scanned counts")                          \
	F(R, u64, isolated, PAGES, "as compact_isolated counts")                                  \
	F(R, u64, migrated, PAGES, "pages moved")                                                 \
	F(R, u64, failed, PAGES, "pages that could not be moved")                                 \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                    \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                           \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(compaction_agg, COMPACTION_AGG_FIELDS);

/* Allocations that compacted directly: what /proc/vmstat counts as compact_stall and the like. */
#define COMPACTION_ATTEMPTS_FIELDS(F, R)                                                    \
	F(R, u32, tgid, ID, "process")                                                      \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                              \
	F(R, s32, order, ID, "order of the allocation")                                     \
	F(R, u8, kind, ID, COMPACTION_KIND_HELP)                                            \
	F(R, u8, sync, ID, "0 async, 1 sync")                                               \
	F(R, u8[2], reserved, HIDDEN, "")                                                   \
	F(R, u64, begun, COUNT, "attempts")                                                 \
	F(R, u64, stalled, COUNT, "of these, with a zone that was compacted or found good") \
	F(R, u64, deferred, COUNT,                                                          \
		"of the attempts, with a zone that was deferred, before any such zone")     \
	F(R, u64, both, COUNT, "of the deferred, those with such a zone after that")        \
	F(R, u64, succeeded, COUNT, "of the attempts, with the page: compact_success")      \
	F(R, u64, cgroup, CGROUP, "control group of the task")                              \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(compaction_attempts, COMPACTION_ATTEMPTS_FIELDS);

/* A zone in the moments in which runs for an order began. */
#define COMPACTION_ZONE_FIELDS(F, R)                                                              \
	F(R, s32, node, ID, "NUMA node; -1: not known")                                           \
	F(R, s32, order, ID, "order to make free blocks of; -1: the whole zone, -128: not known") \
	F(R, u8, zone, ID, "number of the zone in its node (enum zone); 255: not known")          \
	F(R, u8[7], reserved, HIDDEN, "")                                                         \
	F(R, u64, runs, COUNT, "runs that began")                                                 \
	F(R, u64, known, COUNT, "of these, with known free pages and watermarks")                 \
	F(R, u64, above_high, COUNT, "of these, with more pages free than the high watermark")    \
	F(R, u64, indexed, COUNT, "runs with a known fragmentation index")                        \
	F(R, s64, index_sum, PERMILLE, "the sum of their indices")                                \
	F(R, u64, free_sum, PAGES, "the sum of the free pages of the known")                      \
	F(R, u64, high_sum, PAGES, "the sum of their high watermarks")
RECORD(compaction_zone, COMPACTION_ZONE_FIELDS);

#define COMPACTION_DEFERRALS_FIELDS(F, R)                                                         \
	F(R, s32, node, ID, "NUMA node; -1: not known")                                           \
	F(R, s32, order, ID, "order to make free blocks of; -1: the whole zone, -128: not known") \
	F(R, u8, zone, ID, "number of the zone in its node (enum zone); 255: not known")          \
	F(R, u8[7], reserved, HIDDEN, "")                                                         \
	F(R, u64, skipped, COUNT, "times compaction was not tried, as it had failed before")      \
	F(R, u64, failed, COUNT, "times it failed and was put off")                               \
	F(R, u64, reset, COUNT, "times it succeeded, or was expected to")
RECORD(compaction_deferrals, COMPACTION_DEFERRALS_FIELDS);

#define COMPACTION_KCOMPACTD_FIELDS(F, R)                                               \
	F(R, u32, node, ID, "NUMA node")                                                \
	F(R, u32, reserved, HIDDEN, "")                                                 \
	F(R, u64, wakes, COUNT, "times it started work, as compact_daemon_wake counts") \
	F(R, u64, wakeups, COUNT, "times it was woken")                                 \
	F(R, u64, sleeps, COUNT, "times it went to sleep after work")                   \
	F(R, u64, awake_ns, NS, "time from the work to the sleep that follows")         \
	F(R, u64, max_ns, NS, "the longest since the start")                            \
	F(R, u64, cpu_ns, NS, "of it, on a CPU")                                        \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(compaction_kcompactd, COMPACTION_KCOMPACTD_FIELDS);

#endif
