/*
 * The raw tracepoints: arguments by their place in TP_PROTO (include/trace/events/vmscan.h,
 * compaction.h, oom.h), held against the BTF (btf_trace_*) of 5.10, 6.1, 6.12, 6.18 and 7.3. What
 * differs is said where it is used.
 */
#ifndef MEMWHY_PROBES_STALLS_RAW_BPF_H
#define MEMWHY_PROBES_STALLS_RAW_BPF_H

#include "probes/stalls/stalls_steps.bpf.h"

/* step_begin() is a function that the program calls: one frame more. */
#define STEP_FRAMES (RAW_FRAMES + 1)

static __always_inline int raw_begin(struct bpf_raw_tracepoint_args *ctx, u8 kind)
{
	struct reclaim_for want = reclaim_for(ctx);
	struct begin b = {.ctx = ctx,
		.order = want.order,
		.gfp = want.gfp,
		.kind = kind,
		.skip = STEP_FRAMES};

	return step_begin(&b);
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int raw_direct_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_begin(ctx, STALLS_DIRECT);
}

/* (unsigned long nr_reclaimed), and the mem_cgroup in 7.3, for all of the ends. */
SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int raw_direct_end(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_end(STALLS_DIRECT, ctx->args[0]);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int raw_memcg_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_begin(ctx, STALLS_MEMCG);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int raw_memcg_end(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_end(STALLS_MEMCG, ctx->args[0]);
}

/* (int nid, int order, gfp_t) */
SEC("raw_tp/mm_vmscan_node_reclaim_begin")
int raw_node_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct begin b = {.ctx = ctx,
		.order = ctx->args[1],
		.gfp = ctx->args[2],
		.kind = STALLS_NODE,
		.skip = STEP_FRAMES};

	return step_begin(&b);
}

SEC("raw_tp/mm_vmscan_node_reclaim_end")
int raw_node_end(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_end(STALLS_NODE, ctx->args[0]);
}

/* (…, nr_scanned, nr_skipped, nr_taken, isolate_mode_t, int lru) until 6.6; without isolate_mode
 * since. The probe asks how many arguments there are (kernel_tracepoint_has). */
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

/* (int nid, unsigned long nr_scanned, nr_reclaimed, …) */
SEC("raw_tp/mm_vmscan_lru_shrink_inactive")
int raw_lru_inactive(struct bpf_raw_tracepoint_args *ctx)
{
	return lru_shrunk(ctx->args[2]);
}

/* (int nid, int usec_timeout, int usec_delayed, int reason), since 5.16 */
SEC("raw_tp/mm_vmscan_throttled")
int raw_throttled(struct bpf_raw_tracepoint_args *ctx)
{
	return was_throttled(ctx->args[2]);
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

/* (int order, gfp_t, int prio) */
SEC("raw_tp/mm_compaction_try_to_compact_pages")
int raw_compact_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct begin b = {.ctx = ctx,
		.order = ctx->args[0],
		.gfp = ctx->args[1],
		.mode = ctx->args[2],
		.kind = STALLS_COMPACT,
		.skip = STEP_FRAMES};

	return step_begin(&b);
}

/* (struct zone *, int order) */
SEC("raw_tp/mm_compaction_deferred")
int raw_compact_deferred(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	return compact_deferred();
}

SEC("raw_tp/mm_compaction_defer_reset")
int raw_compact_reset(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	return compact_reset();
}

/* (struct zone *, int order, int ret) */
SEC("raw_tp/mm_compaction_suitable")
int raw_compact_suitable(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_suitable(ctx->args[2]);
}

/*
 * begin: (zone_start, migrate_pfn, free_pfn, zone_end, bool sync), end: the same and int status;
 * (struct compact_control *, zone_start, zone_end, sync), and status, since 5.18.
 */
SEC("raw_tp/mm_compaction_begin")
int raw_zone_begin_5(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_zone_begin(ctx->args[0]);
}

SEC("raw_tp/mm_compaction_end")
int raw_zone_end_6(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_zone_end(ctx->args[5]);
}

SEC("raw_tp/mm_compaction_begin")
int raw_zone_begin_4(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_zone_begin(ctx->args[1]);
}

SEC("raw_tp/mm_compaction_end")
int raw_zone_end_5(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_zone_end(ctx->args[4]);
}

/* (start_pfn, end_pfn, nr_scanned, nr_taken) */
SEC("raw_tp/mm_compaction_isolate_migratepages")
int raw_compact_isolated(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_isolated(ctx->args[2]);
}

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

#define CLUSTER_MAX 64 /* COMPACT_CLUSTER_MAX is 32; a page that is large was split */

/* Until 5.16: (unsigned long nr_all, int migrate_rc, struct list_head *migratepages). Below 0, rc
 * is an error and what was not migrated is still on the list. */
SEC("raw_tp/mm_compaction_migratepages")
int raw_migrated_3(struct bpf_raw_tracepoint_args *ctx)
{
	struct list_head *head = (void *)ctx->args[2], *at = head;
	u64 all = ctx->args[0], failed = 0;
	int rc = (int)ctx->args[1];

	if (rc >= 0) {
		failed = (u32)rc;
	} else {
		for (int i = 0; i < CLUSTER_MAX; i++) {
			if (bpf_probe_read_kernel(&at, sizeof(at), at) || at == head)
				break;
			failed++;
		}
	}
	return compact_migrated(all > failed ? all - failed : 0, failed);
}

struct compact_control {
	unsigned int nr_migratepages;
} __attribute__((preserve_access_index));

/* Since 5.17: (unsigned nr_migratepages, nr_succeeded); from 5.18 to 6.6 the first is a struct
 * compact_control. */
SEC("raw_tp/mm_compaction_migratepages")
int raw_migrated_2(struct bpf_raw_tracepoint_args *ctx)
{
	struct compact_control *cc = (void *)ctx->args[0];
	u64 all = ctx->args[0], done = (u32)ctx->args[1];

	if (all >> 32)
		all = bpf_core_field_exists(cc->nr_migratepages)
			      ? BPF_CORE_READ(cc, nr_migratepages)
			      : done;
	return compact_migrated(done, all > done ? all - done : 0);
}

/* (struct zoneref *, int order, unsigned long reclaimable, available, min_wmark, int
 * no_progress_loops, bool wmark_check) */
SEC("raw_tp/reclaim_retry_zone")
int raw_reclaim_retry(struct bpf_raw_tracepoint_args *ctx)
{
	return retry_decided(ctx->args[1], ctx->args[6] & 1);
}

/* (int order, enum compact_priority, enum compact_result, int retries, int max_retries, bool) */
SEC("raw_tp/compact_retry")
int raw_compact_retry(struct bpf_raw_tracepoint_args *ctx)
{
	return retry_decided(ctx->args[0], ctx->args[5] & 1);
}

SEC("raw_tp/mark_victim")
int raw_mark_victim(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	return victim_marked();
}

/* (int nid, int zid, int order, gfp_t) */
SEC("raw_tp/mm_vmscan_wakeup_kswapd")
int raw_wakeup_kswapd(struct bpf_raw_tracepoint_args *ctx)
{
	return kswapd_woken(ctx->args[2], ctx->args[3]);
}

/* (unsigned long address, struct pt_regs *, unsigned long error_code) */
SEC("raw_tp/page_fault_user")
int raw_fault(struct bpf_raw_tracepoint_args *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct fault *f = fault_of(tid);

	if (f) {
		f->tid = tid;
		f->address = ctx->args[0];
	}
	return 0;
}

#endif
