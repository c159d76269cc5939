/*
 * What programs on the tracepoints of mm/vmscan.c share: how their arguments and fields differ
 * between kernels.
 */
#ifndef MEMWHY_BPF_VMSCAN_BPF_H
#define MEMWHY_BPF_VMSCAN_BPF_H

#include "bpf/common.bpf.h"

struct trace_event_raw_mm_vmscan_lru_isolate {
	unsigned long nr_scanned, nr_taken;
	unsigned int isolate_mode; /* until 6.6 */
	int lru;
} __attribute__((preserve_access_index));

EVENT(mm_vmscan_direct_reclaim_begin_template, int order; unsigned long gfp_flags;);
EVENT(mm_vmscan_direct_reclaim_end_template, unsigned long nr_reclaimed;);
EVENT(mm_vmscan_node_reclaim_begin, int nid; int order; unsigned long gfp_flags;);
EVENT(mm_vmscan_lru_shrink_inactive, int nid; unsigned long nr_reclaimed; int reclaim_flags;);
EVENT(mm_vmscan_throttled, int usec_delayed; int reason;);

#define RECLAIM_WB_FILE 2 /* include/trace/events/vmscan.h */

static __always_inline bool lru_has_isolate_mode(void)
{
	return bpf_core_field_exists(
		((struct trace_event_raw_mm_vmscan_lru_isolate *)0)->isolate_mode);
}

/* What reclaim is for. */
struct reclaim_for {
	u32 order, gfp;
};

/*
 * From the arguments of a begin event: (int order, gfp_t) to 6.18; (gfp_t, int order, struct
 * mem_cgroup *) in 7.3. No need to know which: an order is small, and a mask that allows reclaim
 * has ___GFP_DIRECT_RECLAIM (0x400) set.
 */
#define ORDERS 64

static __always_inline struct reclaim_for reclaim_for(struct bpf_raw_tracepoint_args *ctx)
{
	u64 a = ctx->args[0], b = ctx->args[1];
	bool swapped = a >= ORDERS;

	return (struct reclaim_for){swapped ? b : a, swapped ? a : b};
}

#endif
