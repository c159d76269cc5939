/* What reclaim scans on the LRU lists, and what comes of it. */
#ifndef MEMWHY_PROBES_RECLAIM_LRU_BPF_H
#define MEMWHY_PROBES_RECLAIM_LRU_BPF_H

#include "probes/reclaim/work.bpf.h"

AGG_TABLE(lru_lists, struct lru_key);

struct trace_event_raw_mm_vmscan_lru_isolate {
	unsigned int isolate_mode; /* until 6.6 */
} __attribute__((preserve_access_index));

static __always_inline void lru_count(u8 kind, s16 node, u32 list, u64 examined, u64 taken,
	u64 reclaimed)
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

/* Of a thread whose reclaim we know nothing of: it began before we looked. */
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
	return config.lru_gen &&
	       bpf_core_field_exists(
		       ((struct trace_event_raw_mm_vmscan_lru_isolate *)0)->isolate_mode);
}

/*
 * Which number is pgscan_*: shrink_inactive_list() adds nr_scanned, what was looked at on an
 * inactive list; the multi-generational LRU's scan_folios() adds what it isolated. An active
 * list's nr_scanned is pgrefill. The event has no node: the one that follows it has.
 */
static __always_inline int lru_isolated(struct bpf_raw_tracepoint_args *ctx, u32 list)
{
	struct work *w = work_current();

	if (!w)
		return lru_other(RECLAIM_NODE_UNKNOWN, list, ctx->args[3], ctx->args[5], 0);
	lru_flush(w);
	w->isolated = list + 1;
	w->examined = ctx->args[3];
	w->taken = ctx->args[5];
	if (list == RECLAIM_ACTIVE_ANON || list == RECLAIM_ACTIVE_FILE)
		return 0; /* shrink_active_list() always fires its event */
	w->scanned += config.lru_gen ? w->taken : w->examined;
	if (!w->taken)
		lru_flush(w); /* nothing more will be said of it */
	return 0;
}

/*
 * (int highest_zoneidx, int order, unsigned long nr_requested, nr_scanned, nr_skipped, nr_taken,
 * isolate_mode_t, int lru) until 6.6; without isolate_mode since 3dfbb555c98a in 6.7.
 */
SEC("raw_tp/mm_vmscan_lru_isolate")
int lru_isolate(struct bpf_raw_tracepoint_args *ctx)
{
	if (bpf_core_field_exists(
		    ((struct trace_event_raw_mm_vmscan_lru_isolate *)0)->isolate_mode))
		return lru_isolated(ctx, ctx->args[7]);
	return lru_isolated(ctx, ctx->args[6]);
}

/* Without BTF: the kernel refuses to attach a program that reads an argument that is not there. */
SEC("raw_tp/mm_vmscan_lru_isolate")
int lru_isolate_8(struct bpf_raw_tracepoint_args *ctx)
{
	return lru_isolated(ctx, ctx->args[7]);
}

SEC("raw_tp/mm_vmscan_lru_isolate")
int lru_isolate_7(struct bpf_raw_tracepoint_args *ctx)
{
	return lru_isolated(ctx, ctx->args[6]);
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

/*
 * (int nid, unsigned long nr_scanned, nr_reclaimed, struct reclaim_stat *, int priority, int file)
 * nr_reclaimed is what is added to pgsteal_*. nr_scanned is not used: the multi-generational LRU
 * repeats it when it tries the same pages again.
 */
SEC("raw_tp/mm_vmscan_lru_shrink_inactive")
int lru_shrink_inactive(struct bpf_raw_tracepoint_args *ctx)
{
	u32 list = (u32)ctx->args[5] ? RECLAIM_INACTIVE_FILE : RECLAIM_INACTIVE_ANON;

	return lru_shrunk(ctx->args[0], list, ctx->args[2], 0);
}

/* (int nid, unsigned long nr_taken, nr_active, nr_deactivated, nr_referenced, int priority,
 * int file) */
SEC("raw_tp/mm_vmscan_lru_shrink_active")
int lru_shrink_active(struct bpf_raw_tracepoint_args *ctx)
{
	u32 list = (u32)ctx->args[6] ? RECLAIM_ACTIVE_FILE : RECLAIM_ACTIVE_ANON;

	return lru_shrunk(ctx->args[0], list, 0, ctx->args[3]);
}

#endif
