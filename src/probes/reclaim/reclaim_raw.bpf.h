/*
 * The raw tracepoints: arguments by their place, in the order of TP_PROTO in
 * include/trace/events/vmscan.h. They need neither BTF nor tracefs. The order was held against the
 * BTF (btf_trace_*) of 5.10, 6.1, 6.12, 6.18 and 7.3; what differs is said where it is used.
 */
#ifndef MEMWHY_PROBES_RECLAIM_RAW_BPF_H
#define MEMWHY_PROBES_RECLAIM_RAW_BPF_H

#include "bpf/vmscan.bpf.h"
#include "probes/reclaim/reclaim_kswapd.bpf.h"
#include "probes/reclaim/reclaim_lru.bpf.h"
#include "probes/reclaim/reclaim_stall.bpf.h"
#include "probes/reclaim/reclaim_wait.bpf.h"

static __always_inline int raw_begin(struct bpf_raw_tracepoint_args *ctx, u8 kind)
{
	struct reclaim_for want = reclaim_for(ctx);

	return stall_begin(
		ctx, (struct begin){want.order, want.gfp, RECLAIM_NODE_UNKNOWN, kind, RAW_FRAMES});
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int raw_direct_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_begin(ctx, RECLAIM_DIRECT);
}

/* (unsigned long nr_reclaimed), and the mem_cgroup in 7.3, for all of the ends. */
SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int raw_direct_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(0, ctx->args[0]);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int raw_memcg_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_begin(ctx, RECLAIM_MEMCG);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int raw_memcg_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(0, ctx->args[0]);
}

SEC("raw_tp/mm_vmscan_memcg_softlimit_reclaim_begin")
int raw_softlimit_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_begin(ctx, RECLAIM_SOFTLIMIT);
}

SEC("raw_tp/mm_vmscan_memcg_softlimit_reclaim_end")
int raw_softlimit_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(NESTED, ctx->args[0]);
}

/* (int nid, int order, gfp_t) */
SEC("raw_tp/mm_vmscan_node_reclaim_begin")
int raw_node_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_begin(ctx, (struct begin){ctx->args[1], ctx->args[2], (s16)ctx->args[0],
					RECLAIM_NODE, RAW_FRAMES});
}

SEC("raw_tp/mm_vmscan_node_reclaim_end")
int raw_node_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(0, ctx->args[0]);
}

/*
 * (int highest_zoneidx, int order, unsigned long nr_requested, nr_scanned, nr_skipped, nr_taken,
 * isolate_mode_t, int lru) until 6.6; without isolate_mode since 3dfbb555c98a in 6.7.
 */
SEC("raw_tp/mm_vmscan_lru_isolate")
int raw_lru_isolate(struct bpf_raw_tracepoint_args *ctx)
{
	/* two calls, as the compiler would make one load from a variable place out of one */
	if (lru_has_isolate_mode())
		return lru_isolated(ctx->args[7], ctx->args[3], ctx->args[5]);
	return lru_isolated(ctx->args[6], ctx->args[3], ctx->args[5]);
}

/* Without BTF: the kernel refuses to attach a program that reads an argument that is not there
 * (-EINVAL), so the one that reads the eighth is tried first. */
SEC("raw_tp/mm_vmscan_lru_isolate")
int raw_lru_isolate_8(struct bpf_raw_tracepoint_args *ctx)
{
	return lru_isolated(ctx->args[7], ctx->args[3], ctx->args[5]);
}

SEC("raw_tp/mm_vmscan_lru_isolate")
int raw_lru_isolate_7(struct bpf_raw_tracepoint_args *ctx)
{
	return lru_isolated(ctx->args[6], ctx->args[3], ctx->args[5]);
}

/* (int nid, unsigned long nr_scanned, nr_reclaimed, struct reclaim_stat *, int priority,
 * int file) */
SEC("raw_tp/mm_vmscan_lru_shrink_inactive")
int raw_lru_inactive(struct bpf_raw_tracepoint_args *ctx)
{
	return lru_shrunk_inactive(ctx->args[0], (u32)ctx->args[5] != 0, ctx->args[2]);
}

/* (int nid, unsigned long nr_taken, nr_active, nr_deactivated, nr_referenced, int priority,
 * int file) */
SEC("raw_tp/mm_vmscan_lru_shrink_active")
int raw_lru_active(struct bpf_raw_tracepoint_args *ctx)
{
	return lru_shrunk_active(ctx->args[0], (u32)ctx->args[6] != 0, ctx->args[3]);
}

/* (int nid, int zid, int order) */
SEC("raw_tp/mm_vmscan_kswapd_wake")
int raw_kswapd_wake(struct bpf_raw_tracepoint_args *ctx)
{
	return kswapd_woke(ctx->args[0]);
}

/* (int nid) */
SEC("raw_tp/mm_vmscan_kswapd_sleep")
int raw_kswapd_sleep(struct bpf_raw_tracepoint_args *ctx)
{
	return kswapd_slept(ctx->args[0]);
}

/* (struct shrinker *, struct shrink_control *, long nr_objects_to_shrink, unsigned long
 * cache_items, unsigned long long delta, unsigned long total_scan, int priority), and the
 * mem_cgroup in 7.3 */
SEC("raw_tp/mm_shrink_slab_start")
int raw_shrinker_start(struct bpf_raw_tracepoint_args *ctx)
{
	return shrinker_began(ctx->args[5]);
}

struct shrinker {
	void *scan_objects;
} __attribute__((preserve_access_index));

/* (struct shrinker *, int nid, int shrinker_retval, long unused_scan_cnt, long new_scan_cnt,
 * long total_scan), and the mem_cgroup in 7.3 */
SEC("raw_tp/mm_shrink_slab_end")
int raw_shrinker_end(struct bpf_raw_tracepoint_args *ctx)
{
	const struct shrinker *s = (void *)ctx->args[0];
	u64 function = 0;

	if (bpf_core_field_exists(s->scan_objects))
		function = (u64)BPF_CORE_READ(s, scan_objects);
	return shrinker_ended(function, (s32)ctx->args[2], ctx->args[5]);
}

/* (int nid, int usec_timeout, int usec_delayed, int reason), since 5.16 */
SEC("raw_tp/mm_vmscan_throttled")
int raw_throttled(struct bpf_raw_tracepoint_args *ctx)
{
	return was_throttled(ctx->args[3], ctx->args[2]);
}

/* (unsigned int usec_timeout, unsigned int usec_delayed), until 5.15 */
SEC("raw_tp/writeback_congestion_wait")
int raw_congestion_wait(struct bpf_raw_tracepoint_args *ctx)
{
	return was_congested(ctx->args[1]);
}

SEC("raw_tp/writeback_wait_iff_congested")
int raw_iff_congested(struct bpf_raw_tracepoint_args *ctx)
{
	return was_congested(ctx->args[1]);
}

#endif
