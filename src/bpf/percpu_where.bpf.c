/*
 * Where the kernel's counters of events are, on one CPU. Per-CPU variables of the kernel have no
 * address of their own that could be asked for; but the run queue of a CPU is one of them, any task
 * points to it, and what lies between two per-CPU variables is the same on every CPU. Run by the
 * loader on each CPU, once; owns nothing else.
 */
#include "bpf/kernel.bpf.h"
#include "bpf/percpu_where.h"

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
	__type(value, struct percpu_where);
} where SEC(".maps");

SEC("raw_tp")
int where_find(void *ctx)
{
	struct task_struct___se *task = (void *)bpf_get_current_task();
	struct percpu_where *w;
	struct rq *rq;
	u32 zero = 0;

	w = bpf_map_lookup_elem(&where, &zero);
	if (!w)
		return 0;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	w->rq = (u64)rq;
	w->cpu = BPF_CORE_READ(rq, cpu);
	for (int i = 0; i < PERCPU_WHERE_MAX; i++) {
		w->value[i] = 0;
		if (w->distance[i])
			bpf_probe_read_kernel(
				&w->value[i], sizeof(w->value[i]), (void *)rq + w->distance[i]);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
