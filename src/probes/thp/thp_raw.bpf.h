/*
 * The raw tracepoints: arguments by their place, in the order of TP_PROTO. The order was held
 * against the BTF (btf_trace_*) of 5.10, 6.1, 6.12, 6.18 and 7.3; what differs is said.
 */
#ifndef MEMWHY_PROBES_THP_RAW_BPF_H
#define MEMWHY_PROBES_THP_RAW_BPF_H

#include "probes/thp/thp_handlers.bpf.h"

/* (int order, gfp_t, int prio) */
SEC("raw_tp/mm_compaction_try_to_compact_pages")
int raw_compact_try(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_try((u32)ctx->args[0], ctx->args[1]);
}

/* Five unsigned longs and a bool until 5.18, then a struct compact_control first. */
SEC("raw_tp/mm_compaction_begin")
int raw_compact_begin(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	return compact_begin();
}

SEC("raw_tp/mm_compaction_end")
int raw_compact_end(struct bpf_raw_tracepoint_args *ctx)
{
	return compact_end(ctx, RAW_FRAMES);
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int raw_reclaim_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct reclaim_for what = reclaim_for(ctx);

	return reclaim_begin(what.order, what.gfp);
}

/* (unsigned long nr_reclaimed), and the mem_cgroup in 7.3 */
SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int raw_reclaim_end(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_end(ctx, ctx->args[0], RAW_FRAMES);
}

/* (int nid, int zid, int order) */
SEC("raw_tp/mm_vmscan_kswapd_wake")
int raw_kswapd_wake(struct bpf_raw_tracepoint_args *ctx)
{
	return kswapd_begin(ctx, (u32)ctx->args[2], RAW_FRAMES);
}

SEC("raw_tp/mm_vmscan_kswapd_sleep")
int raw_kswapd_sleep(struct bpf_raw_tracepoint_args *ctx)
{
	return kswapd_end(ctx, RAW_FRAMES);
}

/* The classic record: until 6.12 it had the argument `writable` before referenced. */
struct trace_event_raw_mm_khugepaged_scan_pmd {
	struct mm_struct *mm;
	bool writable;
	int status;
} __attribute__((preserve_access_index));

/* (struct mm_struct *, page or pfn, [bool writable,] int referenced, int none_or_zero, int status,
 * int unmapped) */
SEC("raw_tp/mm_khugepaged_scan_pmd")
int raw_scan_7(struct bpf_raw_tracepoint_args *ctx)
{
	u64 unmapped = ctx->args[6];

	asm volatile("" ::"r"(unmapped)); /* stays, or it attaches where there are six */
	return collapse(ctx, ctx->args[0], (u32)ctx->args[5], THP_SCAN, 0, RAW_FRAMES);
}

SEC("raw_tp/mm_khugepaged_scan_pmd")
int raw_scan_6(struct bpf_raw_tracepoint_args *ctx)
{
	return collapse(ctx, ctx->args[0], (u32)ctx->args[4], THP_SCAN, 0, RAW_FRAMES);
}

/* (struct mm_struct *, int isolated, int status), and the order in 7.3 */
SEC("raw_tp/mm_collapse_huge_page")
int raw_collapse(struct bpf_raw_tracepoint_args *ctx)
{
	return collapse(ctx, ctx->args[0], (u32)ctx->args[2], THP_COLLAPSE, 0, RAW_FRAMES);
}

/* (struct mm_struct *, page or pfn, struct file *, int present, int swap, int result), since 6.1 */
SEC("raw_tp/mm_khugepaged_scan_file")
int raw_scan_file(struct bpf_raw_tracepoint_args *ctx)
{
	return collapse(ctx, ctx->args[0], (u32)ctx->args[5], THP_SCAN, THP_FILE, RAW_FRAMES);
}

/* (struct mm_struct *, folio or pfn, pgoff_t index, unsigned long addr, bool is_shmem,
 * struct file *, int nr, int result), since 6.2 */
SEC("raw_tp/mm_khugepaged_collapse_file")
int raw_collapse_file(struct bpf_raw_tracepoint_args *ctx)
{
	return collapse(ctx, ctx->args[0], (u32)ctx->args[7], THP_COLLAPSE, THP_FILE, RAW_FRAMES);
}

#endif
