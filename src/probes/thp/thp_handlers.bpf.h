/* What happens at each hook, whatever kind of hook it is. */
#ifndef MEMWHY_PROBES_THP_HANDLERS_BPF_H
#define MEMWHY_PROBES_THP_HANDLERS_BPF_H

#include "probes/thp/thp_work.bpf.h"

/* The kernel adds one to one of its counters in the current task. */
static __always_inline int counter_rose(void *ctx, u8 kind)
{
	struct thp_what w;

	if (!scope_match(bpf_get_current_pid_tgid()))
		return 0;
	w = what_current(kind, 0);
	what_count(ctx, &w);
	return 0;
}

/* do_huge_pmd_anonymous_page() */
static __always_inline int fault_begin(void)
{
	struct work *w;

	if (!scope_match(bpf_get_current_pid_tgid()))
		return 0;
	w = work_get();
	if (!w)
		return 0;
	w->zero_ns = w->compact_ns = w->zero_start_ns = 0;
	w->fault_ns = bpf_ktime_get_ns();
	return 0;
}

#define VM_FAULT_FALLBACK 0x800 /* include/linux/mm_types.h, from 5.10 to 7.3 */

static __always_inline int fault_end(void *ctx, u64 ret)
{
	struct work *work = work_find();
	struct thp_what w;

	if (!work || !work->fault_ns)
		return 0;
	w = what_current(THP_HANDLED, 0);
	w.timed = 1;
	w.ns = bpf_ktime_get_ns() - work->fault_ns;
	w.sum[HANDLED_ZERO_NS] = work->zero_ns;
	w.sum[HANDLED_COMPACT_NS] = work->compact_ns;
	w.sum[HANDLED_FALLBACK_NS] = ret & VM_FAULT_FALLBACK ? w.ns : 0;
	work->fault_ns = 0;
	what_count(ctx, &w);
	return 0;
}

/* clear_huge_page(), folio_zero_user(): of hugetlb too, so only within a fault. */
static __always_inline int zero_begin(void)
{
	struct work *w = work_find();

	if (w && w->fault_ns)
		w->zero_start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int zero_end(void)
{
	struct work *w = work_find();

	if (!w || !w->zero_start_ns)
		return 0;
	w->zero_ns += bpf_ktime_get_ns() - w->zero_start_ns;
	w->zero_start_ns = 0;
	return 0;
}

/* try_to_compact_pages(): what the compactions of zones that follow in this thread are for. */
static __always_inline int compact_try(u64 order, u64 gfp)
{
	struct work *w;

	if (!is_thp(order, gfp)) {
		w = work_find();
		if (w)
			w->compacts = 0;
		return 0;
	}
	if (!scope_match(bpf_get_current_pid_tgid()))
		return 0;
	w = work_get();
	if (!w)
		return 0;
	w->compacts = 1;
	w->flags = kernel_flag();
	return 0;
}

static __always_inline int compact_begin(void)
{
	struct work *w = work_find();

	if (w && w->compacts)
		w->compact_start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int compact_end(void *ctx, u8 skip)
{
	struct work *work = work_find();
	struct thp_what w;

	if (!work || !work->compact_start_ns)
		return 0;
	w = what_current(THP_COMPACT, skip);
	w.timed = 1;
	w.flags = work->flags;
	w.ns = bpf_ktime_get_ns() - work->compact_start_ns;
	work->compact_ns += w.ns;
	work->compact_start_ns = 0;
	what_count(ctx, &w);
	return 0;
}

static __always_inline int reclaim_begin(u64 order, u64 gfp)
{
	struct work *w;

	if (!is_thp(order, gfp) || !scope_match(bpf_get_current_pid_tgid()))
		return 0;
	w = work_get();
	if (!w)
		return 0;
	w->flags = kernel_flag() | free_flags(&w->above);
	w->reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int reclaim_end(void *ctx, u64 reclaimed, u8 skip)
{
	struct work *work = work_find();
	struct thp_what w;

	if (!work || !work->reclaim_ns)
		return 0;
	w = what_current(THP_RECLAIM, skip);
	w.timed = 1;
	w.flags = work->flags;
	w.ns = bpf_ktime_get_ns() - work->reclaim_ns;
	w.sum[RECLAIM_ABOVE] = work->above;
	w.sum[RECLAIM_ABOVE_NS] = work->above ? w.ns : 0;
	w.sum[RECLAIM_PAGES] = reclaimed;
	work->reclaim_ns = 0;
	what_count(ctx, &w);
	return 0;
}

/* kswapd ends what it was awake for, if that was a huge page. */
static __always_inline int kswapd_end(void *ctx, u8 skip)
{
	struct work *work = work_find();
	struct thp_what w;

	if (!work || !work->kswapd_ns)
		return 0;
	w = what_current(THP_KSWAPD, skip);
	w.timed = 1;
	w.flags = work->flags;
	w.ns = bpf_ktime_get_ns() - work->kswapd_ns;
	w.sum[RECLAIM_ABOVE] = work->above;
	w.sum[RECLAIM_ABOVE_NS] = work->above ? w.ns : 0;
	work->kswapd_ns = 0;
	what_count(ctx, &w);
	return 0;
}

/* Reclaim for a huge order, whoever wants it: kswapd does not know for whom. */
static __always_inline int kswapd_begin(void *ctx, u64 order, u8 skip)
{
	struct work *w;

	kswapd_end(ctx, skip);
	if (order < THP_ORDER || !scope_match(bpf_get_current_pid_tgid()))
		return 0;
	w = work_get();
	if (!w)
		return 0;
	w->flags = THP_KERNEL | free_flags(&w->above);
	w->kswapd_ns = bpf_ktime_get_ns();
	return 0;
}

/* The process whose memory khugepaged looks at. */
struct task_struct___owner {
	int tgid;
	char comm[COMM_LEN];
	struct css_set *cgroups;
} __attribute__((preserve_access_index));

struct mm_struct___owner {
	struct task_struct___owner *owner; /* CONFIG_MEMCG */
} __attribute__((preserve_access_index));

static __always_inline struct cgroup *task_cgroup(
	const struct task_struct___owner *task, u8 version)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = 0;
	u64 id;

	if (version == SCOPE_CGROUP_NONE)
		return 0;
	if (version != SCOPE_CGROUP_V1)
		return BPF_CORE_READ(set, dfl_cgrp);
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	bpf_probe_read_kernel(&css, sizeof(css),
		(void *)__builtin_preserve_access_index(&set->subsys) + id * sizeof(css));
	return css ? BPF_CORE_READ(css, cgroup) : 0;
}

static __always_inline bool owner_in_cgroup(const struct task_struct___owner *task)
{
	struct cgroup *cg = task_cgroup(task, scope.by_cgroup);

	for (int i = 0; i < CGROUP_LEVELS && cg; i++) {
		struct cgroup_subsys_state *up;

		if (BPF_CORE_READ(cg, kn, id) == scope.cgroup_id)
			return true;
		up = BPF_CORE_READ(cg, self.parent);
		cg = up ? BPF_CORE_READ(up, cgroup) : 0;
	}
	return false;
}

static __always_inline bool owner_has_comm(const char *comm)
{
	for (int i = 0; i < COMM_LEN; i++) {
		if (comm[i] != scope.comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/* scope_match() for another task than the current one. */
static __always_inline bool owner_match(
	const struct task_struct___owner *task, u64 tgid, const char *comm)
{
	if (scope_is_self((u32)tgid))
		return false;
	if (scope.by_task && !scope_task_match(tgid << 32 | tgid))
		return false;
	if (scope.by_cgroup && !owner_in_cgroup(task))
		return false;
	return !scope.by_comm || owner_has_comm(comm);
}

static __always_inline int collapse(void *ctx, u64 mm, u32 result, u8 kind, u8 flags, u8 skip)
{
	struct mm_struct___owner *m = (void *)mm;
	struct task_struct___owner *task = 0;
	struct thp_what w = {.kind = kind, .flags = flags, .result = result, .skip = skip};
	char comm[COMM_LEN] = {};
	struct cgroup *cg;

	if (bpf_core_field_exists(m->owner))
		task = BPF_CORE_READ(m, owner);
	if (task) {
		w.tgid = w.tid = BPF_CORE_READ(task, tgid);
		BPF_CORE_READ_INTO(&comm, task, comm);
	}
	if (!owner_match(task, w.tgid, comm))
		return 0;
	cg = task ? task_cgroup(task, scope.cgroup_of) : 0;
	w.cgroup = cg ? BPF_CORE_READ(cg, kn, id) : 0;
	w.comm = comm;
	what_count(ctx, &w);
	return 0;
}

#endif
