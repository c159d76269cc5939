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

/*
 * Where the counters are. Per-CPU variables of the kernel have no address of their own that could
 * be asked for; but the run queue of a CPU is one of them, any task points to it, and what lies
 * between two per-CPU variables is the same on every CPU. Run by the loader on each CPU, once.
 */
struct rq {
	int cpu;
} __attribute__((preserve_access_index));

struct cfs_rq {
	struct rq *rq; /* CONFIG_FAIR_GROUP_SCHED */
} __attribute__((preserve_access_index));

struct sched_entity {
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct___se {
	struct sched_entity se;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct thp_where);
} where SEC(".maps");

SEC("raw_tp")
int where_find(void *ctx)
{
	struct task_struct___se *task = (void *)bpf_get_current_task();
	struct thp_where *w;
	struct rq *rq;
	u32 zero = 0;

	w = bpf_map_lookup_elem(&where, &zero);
	if (!w)
		return 0;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	w->rq = (u64)rq;
	w->cpu = BPF_CORE_READ(rq, cpu);
	for (int i = 0; i < THP_WATCHES; i++) {
		w->value[i] = 0;
		bpf_probe_read_kernel(
			&w->value[i], sizeof(w->value[i]), (void *)rq + w->distance[i]);
	}
	return 0;
}
