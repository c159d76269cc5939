/*
 * The classic tracepoints: arguments by the names of their fields, wherever the running kernel has
 * them (needs its BTF). For kernels on which raw tracepoints run preemptible (seen in 7.3), where
 * the kernel skips a program while another task is within it on that CPU. Slow to detach, so
 * elsewhere raw ones are used.
 */
#ifndef MEMWHY_PROBES_THP_CLASSIC_BPF_H
#define MEMWHY_PROBES_THP_CLASSIC_BPF_H

#include "probes/thp/thp_raw.bpf.h"

EVENT(mm_compaction_try_to_compact_pages, int order; unsigned long gfp_mask;);
EVENT(mm_vmscan_kswapd_wake, int order;);
EVENT(mm_collapse_huge_page, struct mm_struct *mm; int status;);
EVENT(mm_khugepaged_scan_file, struct mm_struct *mm; int result;);
EVENT(mm_khugepaged_collapse_file, struct mm_struct *mm; int result;);

SEC("tp/compaction/mm_compaction_try_to_compact_pages")
int tp_compact_try(struct trace_event_raw_mm_compaction_try_to_compact_pages *e)
{
	return PASS(compact_try((u32)e->order, e->gfp_mask));
}

SEC("tp/compaction/mm_compaction_begin")
int tp_compact_begin(void *e)
{
	(void)e;
	return PASS(compact_begin());
}

SEC("tp/compaction/mm_compaction_end")
int tp_compact_end(void *e)
{
	return PASS(compact_end(e, 0));
}

SEC("tp/vmscan/mm_vmscan_direct_reclaim_begin")
int tp_reclaim_begin(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *e)
{
	return PASS(reclaim_begin((u32)e->order, e->gfp_flags));
}

SEC("tp/vmscan/mm_vmscan_direct_reclaim_end")
int tp_reclaim_end(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *e)
{
	return PASS(reclaim_end(e, e->nr_reclaimed, 0));
}

SEC("tp/vmscan/mm_vmscan_kswapd_wake")
int tp_kswapd_wake(struct trace_event_raw_mm_vmscan_kswapd_wake *e)
{
	return PASS(kswapd_begin(e, (u32)e->order, 0));
}

SEC("tp/vmscan/mm_vmscan_kswapd_sleep")
int tp_kswapd_sleep(void *e)
{
	return PASS(kswapd_end(e, 0));
}

SEC("tp/huge_memory/mm_khugepaged_scan_pmd")
int tp_scan(struct trace_event_raw_mm_khugepaged_scan_pmd *e)
{
	return PASS(collapse(e, (u64)e->mm, (u32)e->status, THP_SCAN, 0, 0));
}

SEC("tp/huge_memory/mm_collapse_huge_page")
int tp_collapse(struct trace_event_raw_mm_collapse_huge_page *e)
{
	return PASS(collapse(e, (u64)e->mm, (u32)e->status, THP_COLLAPSE, 0, 0));
}

SEC("tp/huge_memory/mm_khugepaged_scan_file")
int tp_scan_file(struct trace_event_raw_mm_khugepaged_scan_file *e)
{
	return PASS(collapse(e, (u64)e->mm, (u32)e->result, THP_SCAN, THP_FILE, 0));
}

SEC("tp/huge_memory/mm_khugepaged_collapse_file")
int tp_collapse_file(struct trace_event_raw_mm_khugepaged_collapse_file *e)
{
	return PASS(collapse(e, (u64)e->mm, (u32)e->result, THP_COLLAPSE, THP_FILE, 0));
}

#endif
