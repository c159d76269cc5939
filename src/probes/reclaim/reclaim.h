/* Page reclaim: what the BPF programs, the probe and its views agree on, and the records. */
#ifndef MEMWHY_PROBES_RECLAIM_H
#define MEMWHY_PROBES_RECLAIM_H

#include "bpf/shared.h"

#define RECLAIM_KIND_HELP "1 direct, 2 control group, 3 its soft limit, 4 node, 5 kswapd, 0 other"

#define RECLAIM_NODE_HELP "NUMA node, where reclaim was of one node; -1: it was not"

/* Who reclaims, and why. On disk. */
enum reclaim_kind {
	RECLAIM_OTHER = 0, /* drop_caches, compaction, or begun before we looked */
	RECLAIM_DIRECT,    /* an allocation found no free page: allocstall_* in /proc/vmstat */
	RECLAIM_MEMCG,     /* a control group reached its limit */
	RECLAIM_SOFTLIMIT, /* ... its soft limit (v1), within direct reclaim or kswapd */
	RECLAIM_NODE,      /* vm.zone_reclaim_mode, or asked for by writing to a node's file */
	RECLAIM_KSWAPD,
	RECLAIM_KIND_N,
};

/* include/linux/mmzone.h: enum lru_list, the same from 5.10 to 7.3 */
enum reclaim_lru {
	RECLAIM_INACTIVE_ANON = 0,
	RECLAIM_ACTIVE_ANON = 1,
	RECLAIM_INACTIVE_FILE = 2,
	RECLAIM_ACTIVE_FILE = 3,
	RECLAIM_UNEVICTABLE = 4,
	RECLAIM_LRU_N,
};

/* include/linux/mmzone.h: enum vmscan_throttle_state, since 5.16; then ours. On disk. */
enum reclaim_throttle_reason {
	RECLAIM_THROTTLE_WRITEBACK = 0,
	RECLAIM_THROTTLE_ISOLATED = 1,
	RECLAIM_THROTTLE_NOPROGRESS = 2,
	RECLAIM_THROTTLE_CONGESTED = 3,
	RECLAIM_THROTTLE_CONGESTION = 32, /* congestion_wait, wait_iff_congested: before 5.16 */
	RECLAIM_THROTTLE_KSWAPD = 33,     /* pgscan_direct_throttle: waits for kswapd to progress */
};

#define RECLAIM_NODE_UNKNOWN (-1)

struct reclaim_config {
	u64 min_ns;     /* with --each: stalls shorter than this do not count */
	u64 free_pages; /* address of the kernel's vm_zone_stat, 0: not known */
	u8 lru_gen;     /* the multi-generational LRU is on (see lru_isolated) */
	u8 reserved[7];
};

/* Key of the table of stalls. */
struct stall_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	u32 gfp;
	u8 kind; /* enum reclaim_kind */
	u8 order;
	s16 node; /* of node reclaim and kswapd */
};

struct lru_key {
	s16 node;
	u8 kind;
	u8 lru;     /* enum reclaim_lru */
	u8 lru_gen; /* config.lru_gen */
	u8 reserved[3];
};

struct kswapd_key {
	u32 node;
	u32 reserved;
};

struct shrinker_key {
	u64 function; /* shrinker->scan_objects; 0: not known */
	u8 kind;
	u8 reserved[7];
};

struct throttle_key {
	struct stall_key stall; /* the first member: its tgid is this key's */
	u32 reason;
	u32 reserved;
};

/* The meaning of agg_value.sum[] in each table. */
enum { STALL_SCANNED, STALL_RECLAIMED, STALL_SHRINKER_NS };
enum { LRU_EXAMINED, LRU_TAKEN, LRU_RECLAIMED /* deactivated, for an active list */ };
enum { KSWAPD_CPU_NS, KSWAPD_BALANCE_NS };
enum { SHRINKER_FREED, SHRINKER_SCANNED };

/* In the ring, one a stall (--each); the same on disk but for the stacks, which become one. The
 * time of the record is the end of the stall. */
#define RECLAIM_STALL_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                           \
	F(R, u32, tid, ID, "thread")                                                             \
	F(R, u32, ustack, STACK, "where reclaim was entered")                                    \
	F(R, u32, kstack, HIDDEN, "")                                                            \
	F(R, u64, ns, NS, "duration, up to the record's time")                                   \
	F(R, u64, scanned, PAGES, "as pgscan_* counts")                                          \
	F(R, u64, reclaimed, PAGES, "as pgsteal_* counts; returned where the LRU tells nothing") \
	F(R, u64, returned, PAGES,                                                               \
		"reclaimed, as reported to the allocator: with the pages of slabs")              \
	F(R, u64, shrinker_ns, NS, "of it, in shrinkers")                                        \
	F(R, u64, throttled_ns, NS, "of it, put to sleep")                                       \
	F(R, u64, free_pages, PAGES, "free in all zones when it began; 0: not known")            \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                   \
	F(R, u32, gfp, HEX, "allocation flags (enum gfp)")                                       \
	F(R, s32, node, ID, RECLAIM_NODE_HELP)                                                   \
	F(R, u8, kind, ID, RECLAIM_KIND_HELP)                                                    \
	F(R, u8, order, ID, "order of the allocation")                                           \
	F(R, u8[6], reserved, HIDDEN, "")                                                        \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(reclaim_stall, RECLAIM_STALL_FIELDS);

/* On disk: what was counted for one key since the last record of it. max_ns: since the start. */
#define RECLAIM_AGG_FIELDS(F, R)                                                        \
	F(R, u32, tgid, ID, "process")                                                  \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                          \
	F(R, u32, stack, STACK, "where reclaim was entered")                            \
	F(R, u32, gfp, HEX, "allocation flags (enum gfp)")                              \
	F(R, s32, node, ID, RECLAIM_NODE_HELP)                                          \
	F(R, u8, kind, ID, RECLAIM_KIND_HELP)                                           \
	F(R, u8, order, ID, "order of the allocation")                                  \
	F(R, u8[2], reserved, HIDDEN, "")                                               \
	F(R, u64, count, COUNT, "stalls that ended")                                    \
	F(R, u64, total_ns, NS, "their time")                                           \
	F(R, u64, max_ns, NS, "the longest since the start")                            \
	F(R, u64, scanned, PAGES, "as pgscan_* counts")                                 \
	F(R, u64, reclaimed, PAGES,                                                     \
		"as pgsteal_* counts; as reclaim returned where the LRU tells nothing") \
	F(R, u64, shrinker_ns, NS, "time in shrinkers")                                 \
	F(R, u64, cgroup, CGROUP, "control group of the task")                          \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                 \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(reclaim_agg, RECLAIM_AGG_FIELDS);

#define RECLAIM_LRU_AGG_FIELDS(F, R)                                                        \
	F(R, s32, node, ID, "NUMA node; -1: not known")                                     \
	F(R, u8, kind, ID, RECLAIM_KIND_HELP)                                               \
	F(R, u8, lru, ID, "0 inactive anon, 1 active anon, 2 inactive file, 3 active file") \
	F(R, u8[2], reserved, HIDDEN, "")                                                   \
	F(R, u64, events, COUNT, "scans that were counted")                                 \
	F(R, u64, examined, PAGES, "looked at on the list")                                 \
	F(R, u64, taken, PAGES, "taken off the list")                                       \
	F(R, u64, scanned, PAGES, "as pgscan_* (inactive) and pgrefill (active) count")     \
	F(R, u64, reclaimed, PAGES, "as pgsteal_* counts")                                  \
	F(R, u64, deactivated, PAGES, "moved from the active to the inactive list")
RECORD(reclaim_lru_agg, RECLAIM_LRU_AGG_FIELDS);

#define RECLAIM_KSWAPD_FIELDS(F, R)                                                            \
	F(R, u32, node, ID, "NUMA node")                                                       \
	F(R, u32, reserved, HIDDEN, "")                                                        \
	F(R, u64, runs, COUNT, "runs, as pageoutrun counts")                                   \
	F(R, u64, sleeps, COUNT, "times it went to sleep")                                     \
	F(R, u64, awake_ns, NS, "time from waking to sleeping, with the nap of 100 ms before") \
	F(R, u64, max_ns, NS, "the longest since the start")                                   \
	F(R, u64, cpu_ns, NS, "of it, on a CPU")                                               \
	F(R, u64, balance_ns, NS, "of it, in balance_pgdat; 0: not known")                     \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(reclaim_kswapd, RECLAIM_KSWAPD_FIELDS);

#define RECLAIM_SHRINKER_FIELDS(F, R)                        \
	F(R, u64, function, HEX, "address of scan_objects")  \
	F(R, u32, frame, ID, "frame of function")            \
	F(R, u8, kind, ID, RECLAIM_KIND_HELP)                \
	F(R, u8[3], reserved, HIDDEN, "")                    \
	F(R, u64, count, COUNT, "calls")                     \
	F(R, u64, total_ns, NS, "their time")                \
	F(R, u64, max_ns, NS, "the longest since the start") \
	F(R, u64, freed, COUNT, "objects freed")             \
	F(R, u64, scanned, COUNT, "objects scanned")         \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(reclaim_shrinker, RECLAIM_SHRINKER_FIELDS);

#define RECLAIM_THROTTLE_FIELDS(F, R)                                                            \
	F(R, u32, tgid, ID, "process")                                                           \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                                   \
	F(R, u32, stack, STACK, "where reclaim was entered")                                     \
	F(R, u32, gfp, HEX, "allocation flags (enum gfp)")                                       \
	F(R, s32, node, ID, RECLAIM_NODE_HELP)                                                   \
	F(R, u32, reason, ID,                                                                    \
		"0 writeback, 1 isolated, 2 no progress, 3 congested, 32 congestion, 33 kswapd") \
	F(R, u8, kind, ID, RECLAIM_KIND_HELP)                                                    \
	F(R, u8, order, ID, "order of the allocation")                                           \
	F(R, u8[6], reserved, HIDDEN, "")                                                        \
	F(R, u64, count, COUNT, "times put to sleep")                                            \
	F(R, u64, total_ns, NS, "their time")                                                    \
	F(R, u64, max_ns, NS, "the longest since the start")                                     \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                   \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                          \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(reclaim_throttle, RECLAIM_THROTTLE_FIELDS);

/* Pages that reclaim sent to a disk since the last such record (nr_vmscan_write). System-wide. */
#define RECLAIM_WRITTEN_FIELDS(F, R) \
	F(R, u64, pages, PAGES,      \
		"pages that reclaim sent to a disk, of the whole machine (nr_vmscan_write)")
RECORD(reclaim_written, RECLAIM_WRITTEN_FIELDS);

#endif
