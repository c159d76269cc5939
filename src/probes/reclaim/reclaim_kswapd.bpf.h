/* When kswapd is awake, and what it costs. */
#ifndef MEMWHY_PROBES_RECLAIM_KSWAPD_BPF_H
#define MEMWHY_PROBES_RECLAIM_KSWAPD_BPF_H

#include "probes/reclaim/reclaim_work.bpf.h"

AGG_TABLE(kswapds, struct kswapd_key);

struct sched_entity___reclaim {
	u64 sum_exec_runtime;
} __attribute__((preserve_access_index));

struct task_struct___reclaim {
	struct sched_entity___reclaim se;
} __attribute__((preserve_access_index));

/* CPU time up to the last tick or switch. */
static __always_inline u64 current_cpu_ns(void)
{
	struct task_struct___reclaim *task = (void *)bpf_get_current_task();

	return bpf_core_field_exists(task->se.sum_exec_runtime)
		       ? BPF_CORE_READ(task, se.sum_exec_runtime)
		       : 0;
}

/* The value of the node's kswapd, with what went by since the last event added. */
static __always_inline struct agg_value *kswapd_event(struct work *w, u32 node, u64 now)
{
	struct kswapd_key key = {.node = node};
	struct agg_value *v;

	w->key.node = node;
	count_add(seen);
	v = agg_get(&kswapds, &key, 1);
	if (!v)
		return 0;
	v->count++;
	v->sum[KSWAPD_BALANCE_NS] += w->balance_ns;
	w->balance_ns = 0;
	if (!w->start_ns)
		return v;
	v->total_ns += now - w->mark_ns;
	v->sum[KSWAPD_CPU_NS] += current_cpu_ns() - w->mark_cpu_ns;
	if (now - w->start_ns > v->max_ns)
		v->max_ns = now - w->start_ns;
	return v;
}

/* Before each balance_pgdat(), also when it has not slept. */
static __always_inline int kswapd_woke(u32 node)
{
	struct work *w = work_current();
	u64 now = bpf_ktime_get_ns();

	if (!w)
		return 0;
	kswapd_event(w, node, now);
	w->mark_ns = now;
	w->mark_cpu_ns = current_cpu_ns();
	if (!w->start_ns)
		w->start_ns = now;
	return 0;
}

/* Going to sleep until woken, after a nap of HZ/10 to make sure. */
static __always_inline int kswapd_slept(u32 node)
{
	struct work *w = work_current();
	u64 now = bpf_ktime_get_ns();
	struct agg_value *v;

	if (!w)
		return 0;
	v = kswapd_event(w, node, now);
	if (v) {
		v->timed++;
		if (w->start_ns)
			v->hist[log2_slot(now - w->start_ns, AGG_SLOTS - 1) & (AGG_SLOTS - 1)]++;
		else
			count_add(unpaired);
	}
	w->start_ns = 0;
	return 0;
}

static __always_inline int balance_began(void)
{
	struct work *w = work_current();

	if (w)
		w->balance_start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int balance_ended(void)
{
	struct work *w = work_current();

	if (!w || !w->balance_start_ns)
		return 0;
	w->balance_ns += bpf_ktime_get_ns() - w->balance_start_ns;
	w->balance_start_ns = 0;
	return 0;
}

#endif
