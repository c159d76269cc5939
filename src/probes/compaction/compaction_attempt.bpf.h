/*
 * Direct compaction as __alloc_pages_direct_compact() in mm/page_alloc.c counts it. No event marks
 * its end, but all that it counts follows from what happens in the task:
 *
 * - try_to_compact_pages() starts: one attempt. In 5.10 this is compact_stall.
 * - A zone was compacted (mm_compaction_end), or already had a page, which only
 *   mm_compaction_defer_reset shows: the task stalled. In 7.3 this is compact_stall.
 * - Otherwise, a zone was skipped because compaction is deferred there (mm_compaction_deferred). In
 *   6.1 and 6.12 compact_stall includes these.
 * - compaction_defer_reset() runs for a zone whose result is COMPACT_SUCCESS, and once more when
 *   the task got the page: compact_success.
 *
 * One case is ambiguous: a zone that already had a page, after one that failed, looks like the page
 * itself.
 */
#ifndef MEMWHY_PROBES_COMPACTION_ATTEMPT_BPF_H
#define MEMWHY_PROBES_COMPACTION_ATTEMPT_BPF_H

#include "probes/compaction/compaction_run.bpf.h"

AGG_TABLE(attempts, struct compaction_attempt_key);
AGG_TABLE(deferrals, struct compaction_zone_key);

struct open_attempt {
	struct compaction_attempt_key key;
	u8 stalled; /* and counted so */
	u8 deferred;
	u8 ran;  /* a zone was compacted */
	u8 good; /* ... and its result was COMPACT_SUCCESS, which a reset follows */
	u8 reserved[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OPEN_RUNS);
	__type(key, u32); /* thread */
	__type(value, struct open_attempt);
} open_attempts SEC(".maps");

enum compact_result {
	COMPACT_SUCCESS = 8, /* CO-RE: the value in the running kernel is used */
};

static __always_inline bool status_is_success(u8 status)
{
	if (bpf_core_enum_value_exists(enum compact_result, COMPACT_SUCCESS))
		return status == bpf_core_enum_value(enum compact_result, COMPACT_SUCCESS);
	return status == config.success;
}

static __always_inline void attempt_add(const struct compaction_attempt_key *key, u32 what)
{
	struct agg_value *v;

	count_add(seen);
	v = agg_get(&attempts, key, 1);
	if (!v)
		return;
	v->count++;
	v->sum[what]++;
}

/* prio: COMPACT_PRIO_ASYNC is the last of enum compact_priority (include/linux/compaction.h), 2
 * from 5.10 to 7.3. */
#define COMPACT_PRIO_ASYNC 2

static __always_inline int attempt_begin(s8 order, int prio)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid;
	struct open_attempt a = {};

	if (!scope_match(pid_tgid))
		return 0;
	a.key.tgid = pid_tgid >> 32;
	a.key.tid = scope.by_thread ? tid : 0;
	a.key.kind = kind_direct();
	a.key.sync = prio != COMPACT_PRIO_ASYNC;
	a.key.order = order;
	bpf_map_update_elem(&open_attempts, &tid, &a, BPF_ANY);
	attempt_add(&a.key, ATTEMPT_BEGUN);
	return 0;
}

static __always_inline struct open_attempt *attempt_current(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&open_attempts, &tid);
}

static __always_inline void attempt_stall(struct open_attempt *a)
{
	struct compaction_attempt_key key = a->key;

	if (a->stalled)
		return;
	a->stalled = 1;
	attempt_add(&key, ATTEMPT_STALLED);
	if (a->deferred)
		attempt_add(&key, ATTEMPT_BOTH);
}

static __always_inline void attempt_deferred(void)
{
	struct open_attempt *a = attempt_current();
	struct compaction_attempt_key key;

	if (!a || a->stalled || a->deferred)
		return;
	key = a->key;
	a->deferred = 1;
	attempt_add(&key, ATTEMPT_DEFERRED);
}

/* Until 6.4 mm_compaction_suitable reported a zone that was good already. */
static __always_inline void attempt_suitable(u8 status)
{
	struct open_attempt *a = attempt_current();

	if (a && status_is_success(status))
		a->good = 1;
}

/* A run of the task ended. vm.compact_memory written by it is no attempt. */
static __always_inline void attempt_ran(u8 status)
{
	struct open_attempt *a = attempt_current();
	struct open_run *r = a ? run_current() : 0;

	if (!r || r->key.zone.order == COMPACTION_ORDER_ALL)
		return;
	a->ran = 1;
	a->good = status_is_success(status);
	attempt_stall(a);
}

/*
 * A reset of a zone, or of the page: the page's comes last. Where the event reports zones that were
 * good already (config.suitable) a reset without it is the page's: 5.10 looks for a page even if no
 * zone was compacted.
 */
static __always_inline void attempt_reset(void)
{
	struct open_attempt *a = attempt_current();
	struct compaction_attempt_key key;
	u32 tid = (u32)bpf_get_current_pid_tgid();

	if (!a)
		return;
	key = a->key;
	attempt_stall(a);
	if (a->good || (!a->ran && !config.suitable)) {
		a->good = 0;
		a->ran = 1;
		return;
	}
	bpf_map_delete_elem(&open_attempts, &tid);
	attempt_add(&key, ATTEMPT_SUCCEEDED);
}

/* A zone that attempts or kcompactd passed over, gave up or got right. */
static __always_inline int deferral_count(struct compaction_zone_key key, u32 what)
{
	struct agg_value *v;

	if (!scope_match(bpf_get_current_pid_tgid()))
		return 0;
	count_add(seen);
	v = agg_get(&deferrals, &key, 1);
	if (!v)
		return 0;
	v->count++;
	v->sum[what]++;
	return 0;
}

#endif
