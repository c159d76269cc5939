/* See reclaim_kinds.h. */
#include "probes/reclaim/reclaim_kinds.h"

#include "base/util.h"
#include "probes/reclaim/reclaim.h"

#define KIND_HELP "1 direct, 2 control group, 3 its soft limit, 4 node, 5 kswapd, 0 other"
#define NODE_HELP "NUMA node, where reclaim was of one node; -1: it was not"
#define HIST_HELP "log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"

static const struct field agg_fields[] = {
	FIELD(struct reclaim_agg, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct reclaim_agg, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct reclaim_agg, stack, FIELD_U32, UNIT_STACK, "where reclaim was entered"),
	FIELD(struct reclaim_agg, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct reclaim_agg, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct reclaim_agg, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_agg, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct reclaim_agg, count, FIELD_U64, UNIT_COUNT, "stalls that ended"),
	FIELD(struct reclaim_agg, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct reclaim_agg, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_agg, scanned, FIELD_U64, UNIT_PAGES, "as pgscan_* counts"),
	FIELD(struct reclaim_agg, reclaimed, FIELD_U64, UNIT_PAGES,
		"as pgsteal_* counts; as reclaim returned where the LRU tells nothing"),
	FIELD(struct reclaim_agg, shrinker_ns, FIELD_U64, UNIT_NS, "time in shrinkers"),
	FIELD(struct reclaim_agg, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct reclaim_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct reclaim_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field stall_fields[] = {
	FIELD(struct reclaim_stall, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct reclaim_stall, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct reclaim_stall, ustack, FIELD_U32, UNIT_STACK, "where reclaim was entered"),
	FIELD(struct reclaim_stall, ns, FIELD_U64, UNIT_NS, "duration, up to the record's time"),
	FIELD(struct reclaim_stall, scanned, FIELD_U64, UNIT_PAGES, "as pgscan_* counts"),
	FIELD(struct reclaim_stall, reclaimed, FIELD_U64, UNIT_PAGES,
		"as pgsteal_* counts; returned where the LRU tells nothing"),
	FIELD(struct reclaim_stall, returned, FIELD_U64, UNIT_PAGES,
		"reclaimed, as reported to the allocator: with the pages of slabs"),
	FIELD(struct reclaim_stall, shrinker_ns, FIELD_U64, UNIT_NS, "of it, in shrinkers"),
	FIELD(struct reclaim_stall, throttled_ns, FIELD_U64, UNIT_NS, "of it, put to sleep"),
	FIELD(struct reclaim_stall, free_pages, FIELD_U64, UNIT_PAGES,
		"free in all zones when it began; 0: not known"),
	FIELD(struct reclaim_stall, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct reclaim_stall, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct reclaim_stall, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct reclaim_stall, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_stall, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD_ARRAY(struct reclaim_stall, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field lru_fields[] = {
	FIELD(struct reclaim_lru_agg, node, FIELD_S32, UNIT_ID, "NUMA node; -1: not known"),
	FIELD(struct reclaim_lru_agg, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_lru_agg, lru, FIELD_U8, UNIT_ID,
		"0 inactive anon, 1 active anon, 2 inactive file, 3 active file"),
	FIELD(struct reclaim_lru_agg, events, FIELD_U64, UNIT_COUNT, "scans that were counted"),
	FIELD(struct reclaim_lru_agg, examined, FIELD_U64, UNIT_PAGES, "looked at on the list"),
	FIELD(struct reclaim_lru_agg, taken, FIELD_U64, UNIT_PAGES, "taken off the list"),
	FIELD(struct reclaim_lru_agg, scanned, FIELD_U64, UNIT_PAGES,
		"as pgscan_* (inactive) and pgrefill (active) count"),
	FIELD(struct reclaim_lru_agg, reclaimed, FIELD_U64, UNIT_PAGES, "as pgsteal_* counts"),
	FIELD(struct reclaim_lru_agg, deactivated, FIELD_U64, UNIT_PAGES,
		"moved from the active to the inactive list"),
};

static const struct field kswapd_fields[] = {
	FIELD(struct reclaim_kswapd, node, FIELD_U32, UNIT_ID, "NUMA node"),
	FIELD(struct reclaim_kswapd, runs, FIELD_U64, UNIT_COUNT, "runs, as pageoutrun counts"),
	FIELD(struct reclaim_kswapd, sleeps, FIELD_U64, UNIT_COUNT, "times it went to sleep"),
	FIELD(struct reclaim_kswapd, awake_ns, FIELD_U64, UNIT_NS,
		"time from waking to sleeping, with the nap of 100 ms before"),
	FIELD(struct reclaim_kswapd, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_kswapd, cpu_ns, FIELD_U64, UNIT_NS, "of it, on a CPU"),
	FIELD(struct reclaim_kswapd, balance_ns, FIELD_U64, UNIT_NS,
		"of it, in balance_pgdat; 0: not known"),
	FIELD_ARRAY(struct reclaim_kswapd, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field shrinker_fields[] = {
	FIELD(struct reclaim_shrinker, function, FIELD_U64, UNIT_HEX, "address of scan_objects"),
	FIELD(struct reclaim_shrinker, frame, FIELD_U32, UNIT_ID, "frame of function"),
	FIELD(struct reclaim_shrinker, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_shrinker, count, FIELD_U64, UNIT_COUNT, "calls"),
	FIELD(struct reclaim_shrinker, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct reclaim_shrinker, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_shrinker, freed, FIELD_U64, UNIT_COUNT, "objects freed"),
	FIELD(struct reclaim_shrinker, scanned, FIELD_U64, UNIT_COUNT, "objects scanned"),
	FIELD_ARRAY(struct reclaim_shrinker, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field throttle_fields[] = {
	FIELD(struct reclaim_throttle, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct reclaim_throttle, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct reclaim_throttle, stack, FIELD_U32, UNIT_STACK, "where reclaim was entered"),
	FIELD(struct reclaim_throttle, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct reclaim_throttle, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct reclaim_throttle, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_throttle, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct reclaim_throttle, reason, FIELD_U32, UNIT_ID,
		"0 writeback, 1 isolated, 2 no progress, 3 congested, 32 congestion, 33 kswapd"),
	FIELD(struct reclaim_throttle, count, FIELD_U64, UNIT_COUNT, "times put to sleep"),
	FIELD(struct reclaim_throttle, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct reclaim_throttle, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_throttle, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct reclaim_throttle, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct reclaim_throttle, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field written_fields[] = {
	FIELD(struct reclaim_written, pages, FIELD_U64, UNIT_PAGES,
		"pages that reclaim sent to a disk, of the whole machine (nr_vmscan_write)"),
};

const struct kind reclaim_kinds[RECLAIM_KINDS] = {
	KIND(REC_RECLAIM_AGG, struct reclaim_agg, "reclaim_agg", agg_fields,
		"reclaim stalls of one kind, process and place, since the last such record"),
	KIND(REC_RECLAIM_STALL, struct reclaim_stall, "reclaim_stall", stall_fields,
		"one reclaim stall"),
	KIND(REC_RECLAIM_LRU, struct reclaim_lru_agg, "reclaim_lru", lru_fields,
		"scans of one LRU list of a node, by who scanned"),
	KIND(REC_RECLAIM_KSWAPD, struct reclaim_kswapd, "reclaim_kswapd", kswapd_fields,
		"what the kswapd of one node did"),
	KIND(REC_RECLAIM_SHRINKER, struct reclaim_shrinker, "reclaim_shrinker", shrinker_fields,
		"calls of one shrinker, by who called"),
	KIND(REC_RECLAIM_THROTTLE, struct reclaim_throttle, "reclaim_throttle", throttle_fields,
		"sleeps that reclaim imposed on one process, for one reason"),
	KIND(REC_RECLAIM_WRITTEN, struct reclaim_written, "reclaim_written", written_fields,
		"pages that reclaim wrote, since the last such record"),
};
