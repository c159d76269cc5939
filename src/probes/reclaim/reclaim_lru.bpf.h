/* What reclaim scans on the LRU lists, and what comes of it. */
#ifndef MEMWHY_PROBES_RECLAIM_LRU_BPF_H
#define MEMWHY_PROBES_RECLAIM_LRU_BPF_H

#include "bpf/vmscan.bpf.h"
#include "probes/reclaim/reclaim_work.bpf.h"

AGG_TABLE(lru_lists, struct lru_key);

static __always_inline void lru_count(
	u8 kind, s16 node, u32 list, u64 examined, u64 taken, u64 reclaimed)
{
	struct lru_key key = {
		.node = node,
		.kind = kind,
		.lru = list,
		.lru_gen = config.lru_gen,
	};
	struct agg_value *v;

	count_add(seen);
	v = agg_get(&lru_lists, &key, 1);
	if (!v)
		return;
	v->count++;
	v->sum[LRU_EXAMINED] += examined;
	v->sum[LRU_TAKEN] += taken;
	v->sum[LRU_RECLAIMED] += reclaimed;
}

/* For a thread whose reclaim began before we looked. */
static __always_inline int lru_other(s16 node, u32 list, u64 examined, u64 taken, u64 reclaimed)
{
	if (scope_match(bpf_get_current_pid_tgid()))
		lru_count(RECLAIM_OTHER, node, list, examined, taken, reclaimed);
	return 0;
}

/* Counts the isolation that waits, for which no other event came. */
static __always_inline void lru_flush(struct work *w)
{
	if (!w->isolated)
		return;
	lru_count(w->key.kind, w->key.node, w->isolated - 1, w->examined, w->taken, 0);
	w->isolated = 0;
}

/* On 6.1 to 6.6 the multi-generational LRU fires no LRU events (they came with 8c2214fc9a47 in
 * 6.7, as did the end of isolate_mode): what a stall returned is all there is. */
static __always_inline bool lru_is_silent(void)
{
	return config.lru_gen && lru_has_isolate_mode();
}

/*
 * How to get pgscan_*: shrink_inactive_list() adds nr_scanned, the pages looked at on an inactive
 * list; scan_folios() of the multi-generational LRU adds what it isolated. An active list's
 * nr_scanned is pgrefill. The event has no node: the next event has it.
 */
static __always_inline int lru_isolated(u32 list, u64 examined, u64 taken)
{
	struct work *w = work_current();

	if (!w)
		return lru_other(RECLAIM_NODE_UNKNOWN, list, examined, taken, 0);
	lru_flush(w);
	w->isolated = list + 1;
	w->examined = examined;
	w->taken = taken;
	if (list == RECLAIM_ACTIVE_ANON || list == RECLAIM_ACTIVE_FILE)
		return 0; /* shrink_active_list() always fires its event */
	w->scanned += config.lru_gen ? taken : examined;
	if (!taken)
		lru_flush(w); /* nothing more will be said of it */
	return 0;
}

/* What became of the pages that were isolated from a list of a node. */
static __always_inline int lru_shrunk(s16 node, u32 list, u64 reclaimed, u64 deactivated)
{
	struct work *w = work_current();
	u64 examined = 0, taken = 0;

	if (!w)
		return lru_other(node, list, 0, 0, reclaimed + deactivated);
	w->reclaimed += reclaimed;
	if (w->isolated == list + 1) {
		examined = w->examined;
		taken = w->taken;
		w->isolated = 0;
	}
	lru_count(w->key.kind, node, list, examined, taken, reclaimed + deactivated);
	return 0;
}

/* reclaimed is what is added to pgsteal_*. The event's nr_scanned is not used: the
 * multi-generational LRU repeats it when it tries the same pages again. */
static __always_inline int lru_shrunk_inactive(s16 node, bool file, u64 reclaimed)
{
	return lru_shrunk(node, file ? RECLAIM_INACTIVE_FILE : RECLAIM_INACTIVE_ANON, reclaimed, 0);
}

static __always_inline int lru_shrunk_active(s16 node, bool file, u64 deactivated)
{
	return lru_shrunk(node, file ? RECLAIM_ACTIVE_FILE : RECLAIM_ACTIVE_ANON, 0, deactivated);
}

#endif
