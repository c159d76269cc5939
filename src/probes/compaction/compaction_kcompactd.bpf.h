/* When kcompactd works, and what wakes it. */
#ifndef MEMWHY_PROBES_COMPACTION_KCOMPACTD_BPF_H
#define MEMWHY_PROBES_COMPACTION_KCOMPACTD_BPF_H

#include "probes/compaction/compaction_run.bpf.h"

AGG_TABLE(kcompactds, struct kcompactd_key);

/* The kcompactd of a node that is at work, by its thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024); /* nodes */
	__type(key, u32);
	__type(value, struct cpu_mark);
} open_works SEC(".maps");

static __always_inline struct agg_value *kcompactd_get(u32 node)
{
	struct kcompactd_key key = {.node = node};
	struct agg_value *v;

	count_add(seen);
	v = agg_get(&kcompactds, &key, 1);
	if (v)
		v->count++;
	return v;
}

/* kcompactd_do_work() begins: KCOMPACTD_WAKE is counted beside this event. */
static __always_inline int kcompactd_woke(u32 node)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid;
	struct cpu_mark mark = {};
	struct agg_value *v;

	if (!scope_match(pid_tgid))
		return 0;
	v = kcompactd_get(node);
	if (v)
		v->sum[KCOMPACTD_WAKES]++;
	cpu_mark(&mark);
	bpf_map_update_elem(&open_works, &tid, &mark, BPF_ANY);
	return 0;
}

/* Fires every 500 ms too, while it only looks whether there is something to do. */
static __always_inline int kcompactd_slept(u32 node)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct cpu_mark *mark = bpf_map_lookup_elem(&open_works, &tid), now = {};
	struct agg_value *v;

	if (!mark)
		return 0;
	v = kcompactd_get(node);
	if (v) {
		cpu_mark(&now);
		v->sum[KCOMPACTD_CPU_NS] += cpu_between(mark, &now);
		agg_time(v, now.wall - mark->wall);
	}
	bpf_map_delete_elem(&open_works, &tid);
	return 0;
}

/* In the task that wakes it: kswapd mostly. */
static __always_inline int kcompactd_wakeup(u32 node)
{
	struct agg_value *v;

	if (!scope_match(bpf_get_current_pid_tgid()))
		return 0;
	v = kcompactd_get(node);
	if (v)
		v->sum[KCOMPACTD_WAKEUPS]++;
	return 0;
}

#endif
