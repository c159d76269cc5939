/*
 * Transparent huge pages. Faults and splits are counted at the kernel's own counters: a hardware
 * watchpoint on vm_event_states.event[...] of each CPU runs the program in the task that faults or
 * splits, as the kernel adds to it. It needs neither a tracepoint (there is none) nor kprobes, the
 * count is the kernel's by construction, and nothing fires for small pages. Times of faults are
 * from kprobes where the kernel has them; compaction, reclaim and collapse from tracepoints.
 */
#include "probes/thp/thp_classic.bpf.h"

SEC("perf_event")
int watch_fault(struct bpf_perf_event_data *ctx)
{
	return counter_rose(ctx, THP_FAULT);
}

SEC("perf_event")
int watch_fallback(struct bpf_perf_event_data *ctx)
{
	return counter_rose(ctx, THP_FALLBACK);
}

SEC("perf_event")
int watch_split_pmd(struct bpf_perf_event_data *ctx)
{
	return counter_rose(ctx, THP_SPLIT_PMD);
}

SEC("perf_event")
int watch_split_page(struct bpf_perf_event_data *ctx)
{
	return counter_rose(ctx, THP_SPLIT_PAGE);
}

SEC("kprobe/do_huge_pmd_anonymous_page")
int fault_entry(struct pt_regs *ctx)
{
	(void)ctx;
	return PASS(fault_begin());
}

SEC("kretprobe/do_huge_pmd_anonymous_page")
int fault_return(struct pt_regs *ctx)
{
	return PASS(fault_end(ctx, ctx->rax));
}

SEC("kprobe/folio_zero_user")
int zero_entry(struct pt_regs *ctx)
{
	(void)ctx;
	return PASS(zero_begin());
}

SEC("kretprobe/folio_zero_user")
int zero_return(struct pt_regs *ctx)
{
	(void)ctx;
	return PASS(zero_end());
}

/* Until 6.10. */
SEC("kprobe/clear_huge_page")
int clear_entry(struct pt_regs *ctx)
{
	(void)ctx;
	return PASS(zero_begin());
}

SEC("kretprobe/clear_huge_page")
int clear_return(struct pt_regs *ctx)
{
	(void)ctx;
	return PASS(zero_end());
}
