/*
 * What threads do for huge pages, from its begin to its end, and how anything is counted. A
 * thread's work is found by its id; one that is pushed out (LRU) loses a duration, never a count
 * of the kernel's own events.
 */
#ifndef MEMWHY_PROBES_THP_WORK_BPF_H
#define MEMWHY_PROBES_THP_WORK_BPF_H

#include "bpf/vmscan.bpf.h"
#include "probes/thp/thp.h"

const volatile struct thp_config config = {};

AGG_TABLE(sums, struct thp_key);

struct work {
	u64 fault_ns, zero_start_ns; /* when it began; 0: it did not */
	u64 compact_start_ns;
	u64 reclaim_ns, kswapd_ns;
	u64 zero_ns, compact_ns; /* in the fault at work */
	u8 compacts;             /* the compaction at work is for a huge page */
	u8 flags;
	u8 above; /* free memory was above the high watermarks when reclaim began */
	u8 reserved[5];
};

static const struct work work_zero = {};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct work);
} works SEC(".maps");

static __always_inline struct work *work_find(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&works, &tid);
}

static __always_inline struct work *work_get(void)
{
	struct work *w = work_find();
	u32 tid = (u32)bpf_get_current_pid_tgid();

	if (w)
		return w;
	bpf_map_update_elem(&works, &tid, &work_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&works, &tid);
}

/* What is to be counted. */
struct thp_what {
	u32 tgid, tid;
	u32 result;
	u8 kind, flags;
	u8 skip; /* frames of the kernel's stack that are not the kernel's: see stack_kernel */
	u8 timed;
	u64 ns;
	u64 sum[3];
	u64 cgroup;
	const char *comm; /* NULL: the current task's */
};

static __always_inline void what_each(const struct thp_what *w, u32 ustack, u32 kstack)
{
	struct thp_event *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_THP_EVENT, sizeof(*e));
	e->tgid = w->tgid;
	e->tid = w->tid;
	e->ustack = ustack;
	e->kstack = kstack;
	e->ns = w->ns;
	e->sum[0] = w->sum[0];
	e->sum[1] = w->sum[1];
	e->sum[2] = w->sum[2];
	e->cgroup = w->cgroup;
	e->result = w->result;
	e->kind = w->kind;
	e->flags = w->flags;
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	if (w->comm)
		__builtin_memcpy(e->comm, w->comm, COMM_LEN);
	else
		bpf_get_current_comm(e->comm, sizeof(e->comm));
	ring_submit(e, sizeof(*e));
}

static __always_inline void what_sum(const struct thp_what *w, const struct thp_key *key)
{
	struct agg_value *v = agg_get(&sums, key, 1);

	if (!v)
		return;
	if (!v->count) {
		v->cgroup = w->cgroup;
		if (w->comm)
			__builtin_memcpy(v->comm, w->comm, COMM_LEN);
	}
	v->count++;
	v->sum[0] += w->sum[0];
	v->sum[1] += w->sum[1];
	v->sum[2] += w->sum[2];
	if (w->timed)
		agg_time(v, w->ns);
}

/* Counts one thing that is within the scope. */
static __always_inline void what_count(void *ctx, const struct thp_what *w)
{
	struct thp_key key = {
		.tgid = w->tgid,
		.tid = scope.by_thread ? w->tid : 0,
		.result = w->result,
		.kind = w->kind,
		.flags = w->flags,
	};
	struct probe_counts *c = counts();

	if (!c || w->ns < config.min_ns)
		return;
	c->seen++;
	if (stack_due(c)) {
		key.ustack = w->comm ? 0 : stack_take(ctx, BPF_F_USER_STACK);
		key.kstack = stack_kernel(ctx, w->skip);
	}
	if (scope.each)
		what_each(w, key.ustack, key.kstack);
	else
		what_sum(w, &key);
}

/* The current task does it. */
static __always_inline struct thp_what what_current(u8 kind, u8 skip)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct thp_what w = {
		.tgid = pid_tgid >> 32,
		.tid = (u32)pid_tgid,
		.kind = kind,
		.skip = skip,
		.cgroup = current_cgroup_id(),
	};

	return w;
}

/* vm_zone_stat[NR_FREE_PAGES]: the first of enum zone_stat_item from 5.10 to 7.3. */
static __always_inline u8 free_flags(u8 *ret_above)
{
	s64 pages = 0;

	*ret_above = 0;
	if (!config.free_pages || !config.high_pages ||
		bpf_probe_read_kernel(&pages, sizeof(pages), (void *)config.free_pages))
		return 0;
	*ret_above = pages > (s64)config.high_pages;
	return THP_FREE_KNOWN;
}

/* include/linux/gfp.h, gfp_types.h: the same bits from 5.10 to 7.3. An allocation of THP has both,
 * one of hugetlb has no __GFP_NOMEMALLOC (GFP_TRANSHUGE_LIGHT, alloc_buddy_hugetlb_folio). */
#define GFP_COMP (1UL << 18)
#define GFP_NOMEMALLOC (1UL << 19)

static __always_inline bool is_thp(u64 order, u64 gfp)
{
	return order == THP_ORDER && gfp & GFP_COMP && gfp & GFP_NOMEMALLOC;
}

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

struct task_struct___flags {
	unsigned int flags;
} __attribute__((preserve_access_index));

static __always_inline u8 kernel_flag(void)
{
	struct task_struct___flags *task = (void *)bpf_get_current_task();

	if (!bpf_core_field_exists(task->flags))
		return 0;
	return BPF_CORE_READ(task, flags) & PF_KTHREAD ? THP_KERNEL : 0;
}

#endif
