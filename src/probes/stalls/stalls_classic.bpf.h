/*
 * The classic tracepoints: fields by their names, wherever the running kernel has them (needs its
 * BTF). For kernels on which raw tracepoints run preemptible (kernel_raw_is_preemptible): while a
 * task is preempted within a program, the kernel skips that program for all others on the CPU, and
 * what begins would miss its end.
 */
#ifndef MEMWHY_PROBES_STALLS_CLASSIC_BPF_H
#define MEMWHY_PROBES_STALLS_CLASSIC_BPF_H

#include "probes/stalls/stalls_steps.bpf.h"

EVENT(mm_compaction_try_to_compact_pages, int order; unsigned long gfp_mask; int prio;);
EVENT(mm_compaction_begin, unsigned long zone_start;);
EVENT(mm_compaction_end, int status;);
EVENT(mm_compaction_isolate_template, unsigned long nr_scanned;);
EVENT(mm_compaction_migratepages, unsigned long nr_migrated, nr_failed;);
EVENT(mm_vmscan_wakeup_kswapd, int order; unsigned long gfp_flags;);
EVENT(reclaim_retry_zone, int order; bool wmark_check;);
EVENT(compact_retry, int order; bool ret;);

static __always_inline int tp_begin(
	struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e, u8 kind)
{
	struct begin b = {.ctx = e, .order = e->order, .gfp = (u32)e->gfp_flags, .kind = kind};

	return step_begin(&b);
}

SEC("tp/vmscan/mm_vmscan_direct_reclaim_begin")
int tp_direct_begin(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e)
{
	return PASS(tp_begin(e, STALLS_DIRECT));
}

SEC("tp/vmscan/mm_vmscan_direct_reclaim_end")
int tp_direct_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(reclaim_end(STALLS_DIRECT, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_memcg_reclaim_begin")
int tp_memcg_begin(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e)
{
	return PASS(tp_begin(e, STALLS_MEMCG));
}

SEC("tp/vmscan/mm_vmscan_memcg_reclaim_end")
int tp_memcg_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(reclaim_end(STALLS_MEMCG, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_node_reclaim_begin")
int tp_node_begin(struct trace_event_raw_mm_vmscan_node_reclaim_begin *e)
{
	struct begin b = {
		.ctx = e, .order = e->order, .gfp = (u32)e->gfp_flags, .kind = STALLS_NODE};

	return PASS(step_begin(&b));
}

SEC("tp/vmscan/mm_vmscan_node_reclaim_end")
int tp_node_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(reclaim_end(STALLS_NODE, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_lru_isolate")
int tp_lru_isolate(struct trace_event_raw_mm_vmscan_lru_isolate *e)
{
	return PASS(lru_isolated(e->lru, e->nr_scanned, e->nr_taken));
}

SEC("tp/vmscan/mm_vmscan_lru_shrink_inactive")
int tp_lru_inactive(struct trace_event_raw_mm_vmscan_lru_shrink_inactive *e)
{
	return PASS(lru_shrunk(e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_throttled")
int tp_throttled(struct trace_event_raw_mm_vmscan_throttled *e)
{
	return PASS(was_throttled(e->usec_delayed));
}

SEC("tp/compaction/mm_compaction_try_to_compact_pages")
int tp_compact_begin(struct trace_event_raw_mm_compaction_try_to_compact_pages *e)
{
	struct begin b = {.ctx = e,
		.order = e->order,
		.gfp = (u32)e->gfp_mask,
		.mode = e->prio,
		.kind = STALLS_COMPACT};

	return PASS(step_begin(&b));
}

SEC("tp/compaction/mm_compaction_deferred")
int tp_compact_deferred(void *e)
{
	(void)e;
	return PASS(compact_deferred());
}

SEC("tp/compaction/mm_compaction_defer_reset")
int tp_compact_reset(void *e)
{
	(void)e;
	return PASS(compact_reset());
}

SEC("tp/compaction/mm_compaction_begin")
int tp_zone_begin(struct trace_event_raw_mm_compaction_begin *e)
{
	return PASS(compact_zone_begin(e->zone_start));
}

SEC("tp/compaction/mm_compaction_end")
int tp_zone_end(struct trace_event_raw_mm_compaction_end *e)
{
	return PASS(compact_zone_end(e->status));
}

SEC("tp/compaction/mm_compaction_isolate_migratepages")
int tp_compact_isolated(struct trace_event_raw_mm_compaction_isolate_template *e)
{
	return PASS(compact_isolated(e->nr_scanned));
}

SEC("tp/compaction/mm_compaction_migratepages")
int tp_migrated(struct trace_event_raw_mm_compaction_migratepages *e)
{
	return PASS(compact_migrated(e->nr_migrated, e->nr_failed));
}

SEC("tp/oom/reclaim_retry_zone")
int tp_reclaim_retry(struct trace_event_raw_reclaim_retry_zone *e)
{
	return PASS(retry_decided(e->order, e->wmark_check));
}

SEC("tp/oom/compact_retry")
int tp_compact_retry(struct trace_event_raw_compact_retry *e)
{
	return PASS(retry_decided(e->order, e->ret));
}

SEC("tp/oom/mark_victim")
int tp_mark_victim(void *e)
{
	(void)e;
	return PASS(victim_marked());
}

SEC("tp/vmscan/mm_vmscan_wakeup_kswapd")
int tp_wakeup_kswapd(struct trace_event_raw_mm_vmscan_wakeup_kswapd *e)
{
	return PASS(kswapd_woken(e->order, (u32)e->gfp_flags));
}

#endif
