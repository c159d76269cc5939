/*
 * The classic tracepoints: arguments by the names of their fields, wherever the running kernel has
 * them (needs its BTF). For kernels on which raw tracepoints run preemptible (seen in 7.3): while
 * a task is preempted within a program, the kernel skips that program for all others on the CPU.
 * There 445 of 449 stalls were seen with raw tracepoints, and all 449 with classic ones, which run
 * with preemption off. They are slow to detach (a grace period of RCU each), so elsewhere raw ones
 * are used.
 */
#ifndef MEMWHY_PROBES_RECLAIM_CLASSIC_BPF_H
#define MEMWHY_PROBES_RECLAIM_CLASSIC_BPF_H

#include "bpf/vmscan.bpf.h"
#include "probes/reclaim/reclaim_kswapd.bpf.h"
#include "probes/reclaim/reclaim_lru.bpf.h"
#include "probes/reclaim/reclaim_stall.bpf.h"
#include "probes/reclaim/reclaim_wait.bpf.h"

EVENT(mm_vmscan_lru_shrink_active, int nid; unsigned long nr_deactivated; int reclaim_flags;);
EVENT(mm_vmscan_kswapd_wake, int nid;);
EVENT(mm_vmscan_kswapd_sleep, int nid;);
EVENT(mm_shrink_slab_start, long total_scan;);
EVENT(mm_shrink_slab_end, void *shrink; int retval; long total_scan;);

static __always_inline int tp_begin(
	struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e, u8 kind)
{
	return stall_begin(
		e, (struct begin){e->order, (u32)e->gfp_flags, RECLAIM_NODE_UNKNOWN, kind, 0});
}

/* allocstall_* is counted behind this one, once more when do_try_to_free_pages retries. */
SEC("tp/vmscan/mm_vmscan_direct_reclaim_begin")
int tp_direct_begin(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e)
{
	return PASS(tp_begin(e, RECLAIM_DIRECT));
}

SEC("tp/vmscan/mm_vmscan_direct_reclaim_end")
int tp_direct_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(stall_end(0, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_memcg_reclaim_begin")
int tp_memcg_begin(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e)
{
	return PASS(tp_begin(e, RECLAIM_MEMCG));
}

SEC("tp/vmscan/mm_vmscan_memcg_reclaim_end")
int tp_memcg_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(stall_end(0, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_memcg_softlimit_reclaim_begin")
int tp_softlimit_begin(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e)
{
	return PASS(tp_begin(e, RECLAIM_SOFTLIMIT));
}

SEC("tp/vmscan/mm_vmscan_memcg_softlimit_reclaim_end")
int tp_softlimit_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(stall_end(NESTED, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_node_reclaim_begin")
int tp_node_begin(struct trace_event_raw_mm_vmscan_node_reclaim_begin *e)
{
	return PASS(stall_begin(
		e, (struct begin){e->order, (u32)e->gfp_flags, (s16)e->nid, RECLAIM_NODE, 0}));
}

SEC("tp/vmscan/mm_vmscan_node_reclaim_end")
int tp_node_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(stall_end(0, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_lru_isolate")
int tp_lru_isolate(struct trace_event_raw_mm_vmscan_lru_isolate *e)
{
	return PASS(lru_isolated(e->lru, e->nr_scanned, e->nr_taken));
}

SEC("tp/vmscan/mm_vmscan_lru_shrink_inactive")
int tp_lru_inactive(struct trace_event_raw_mm_vmscan_lru_shrink_inactive *e)
{
	return PASS(
		lru_shrunk_inactive(e->nid, e->reclaim_flags & RECLAIM_WB_FILE, e->nr_reclaimed));
}

SEC("tp/vmscan/mm_vmscan_lru_shrink_active")
int tp_lru_active(struct trace_event_raw_mm_vmscan_lru_shrink_active *e)
{
	return PASS(
		lru_shrunk_active(e->nid, e->reclaim_flags & RECLAIM_WB_FILE, e->nr_deactivated));
}

SEC("tp/vmscan/mm_vmscan_kswapd_wake")
int tp_kswapd_wake(struct trace_event_raw_mm_vmscan_kswapd_wake *e)
{
	return PASS(kswapd_woke(e->nid));
}

SEC("tp/vmscan/mm_vmscan_kswapd_sleep")
int tp_kswapd_sleep(struct trace_event_raw_mm_vmscan_kswapd_sleep *e)
{
	return PASS(kswapd_slept(e->nid));
}

SEC("tp/vmscan/mm_vmscan_balance_pgdat_begin")
int tp_balance_begin(void *e)
{
	(void)e;
	return PASS(balance_began());
}

SEC("tp/vmscan/mm_vmscan_balance_pgdat_end")
int tp_balance_end(void *e)
{
	(void)e;
	return PASS(balance_ended());
}

SEC("tp/vmscan/mm_shrink_slab_start")
int tp_shrinker_start(struct trace_event_raw_mm_shrink_slab_start *e)
{
	return PASS(shrinker_began(e->total_scan));
}

SEC("tp/vmscan/mm_shrink_slab_end")
int tp_shrinker_end(struct trace_event_raw_mm_shrink_slab_end *e)
{
	return PASS(shrinker_ended((u64)e->shrink, e->retval, e->total_scan));
}

/* The field is 1 << reason. */
SEC("tp/vmscan/mm_vmscan_throttled")
int tp_throttled(struct trace_event_raw_mm_vmscan_throttled *e)
{
	return PASS(was_throttled(log2_slot((u32)e->reason, 32) - 1, e->usec_delayed));
}

#endif
