/* Page reclaim: what the BPF programs, the probe and its views agree on, and the records. */
#ifndef MEMWHY_PROBES_RECLAIM_H
#define MEMWHY_PROBES_RECLAIM_H

#include "bpf/shared.h"

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

/* Of the table of stalls. */
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
struct reclaim_stall {
	struct rec h;
	u32 tgid, tid;
	u32 ustack, kstack; /* on disk: ustack is a REC_STACK, kstack is 0 */
	u64 ns;
	u64 scanned, reclaimed;
	u64 returned; /* pages reclaimed as the kernel told the allocator: with those of slabs */
	u64 shrinker_ns, throttled_ns;
	u64 free_pages; /* in all zones when it began; 0: not known */
	u64 cgroup;
	u32 gfp;
	s32 node; /* of node reclaim; RECLAIM_NODE_UNKNOWN */
	u8 kind;
	u8 order;
	u8 reserved[6];
	char comm[COMM_LEN];
};

/* On disk: what was counted for one key since the last record of it. max_ns: since the start. */
struct reclaim_agg {
	struct rec h;
	u32 tgid, tid;
	u32 stack; /* REC_STACK */
	u32 gfp;
	s32 node;
	u8 kind;
	u8 order;
	u8 reserved[2];
	u64 count, total_ns, max_ns;
	u64 scanned, reclaimed;
	u64 shrinker_ns;
	u64 cgroup;
	char comm[COMM_LEN];
	u32 hist[AGG_SLOTS];
};

struct reclaim_lru_agg {
	struct rec h;
	s32 node;
	u8 kind;
	u8 lru;
	u8 reserved[2];
	u64 events;
	u64 examined; /* looked at on the list */
	u64 taken;    /* of these, isolated */
	u64 scanned;  /* what the kernel adds to pgscan_* (inactive), pgrefill (active) */
	u64 reclaimed;
	u64 deactivated;
};

struct reclaim_kswapd {
	struct rec h;
	u32 node;
	u32 reserved;
	u64 runs; /* of balance_pgdat: pageoutrun in /proc/vmstat */
	u64 sleeps;
	u64 awake_ns, max_ns;
	u64 cpu_ns;
	u64 balance_ns;      /* in balance_pgdat; 0: not known (7.3 tells, 6.18 does not) */
	u32 hist[AGG_SLOTS]; /* of the time from a wake to the sleep that follows */
};

struct reclaim_shrinker {
	struct rec h;
	u64 function;
	u32 frame; /* REC_FRAME of function */
	u8 kind;
	u8 reserved[3];
	u64 count, total_ns, max_ns;
	u64 freed, scanned; /* objects */
	u32 hist[AGG_SLOTS];
};

struct reclaim_throttle {
	struct rec h;
	u32 tgid, tid;
	u32 stack;
	u32 gfp;
	s32 node;
	u32 reason; /* enum reclaim_throttle_reason */
	u8 kind;
	u8 order;
	u8 reserved[6];
	u64 count, total_ns, max_ns;
	u64 cgroup;
	char comm[COMM_LEN];
	u32 hist[AGG_SLOTS];
};

/* Pages that reclaim sent to a disk since the last such record (nr_vmscan_write). System-wide. */
struct reclaim_written {
	struct rec h;
	u64 pages;
};

#endif
