/*
 * The part of a BPF program that all probes share: which tasks count (scope), the counters of
 * what was seen and lost, the event ring, stacks. A probe includes this once and writes only its
 * handlers.
 */
#ifndef MEMWHY_BPF_COMMON_BPF_H
#define MEMWHY_BPF_COMMON_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/log2.h"
#include "bpf/shared.h"

const volatile struct scope_config scope = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* the loader sets the real sizes */
	__type(key, u32);
	__type(value, u8);
} scope_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scope_self);
} scope_self SEC(".maps");

/* An object whose programs interrupt each other so often that increments would get lost gives each
 * of them counters of its own (counts_of); the loader sums them. */
#ifndef COUNTS_N
#define COUNTS_N 1
#endif

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS_N);
	__type(key, u32);
	__type(value, struct probe_counts);
} probe_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, STACK_DEPTH_MAX * sizeof(u64));
} stacks SEC(".maps");

static __always_inline struct probe_counts *counts_of(u32 program)
{
	return bpf_map_lookup_elem(&probe_counts, &program);
}

static __always_inline struct probe_counts *counts(void)
{
	return counts_of(0);
}

#define count_add(member_)                          \
	({                                          \
		struct probe_counts *c_ = counts(); \
		if (c_)                             \
			c_->member_++;              \
	})

/*
 * The cgroup of the current task in the memory controller's v1 hierarchy, NULL where there is
 * none. Its number is the running kernel's own (controllers are numbered by its configuration).
 */
static __always_inline struct cgroup *current_cgroup_v1(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = 0;
	u64 id;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	bpf_probe_read_kernel(&css, sizeof(css),
		(void *)__builtin_preserve_access_index(&set->subsys) + id * sizeof(css));
	return css ? BPF_CORE_READ(css, cgroup) : 0;
}

/* 0 where it cannot be known: v1 without kernel BTF. */
static __always_inline u64 current_cgroup_id(void)
{
	struct cgroup *cg;

	if (scope.cgroup_of == SCOPE_CGROUP_V2)
		return bpf_get_current_cgroup_id();
	if (scope.cgroup_of != SCOPE_CGROUP_V1)
		return 0;
	cg = current_cgroup_v1();
	return cg ? BPF_CORE_READ(cg, kn, id) : 0;
}

#define CGROUP_LEVELS 16

static __always_inline struct cgroup *current_cgroup_v2(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, cgroups, dfl_cgrp);
}

/* Is the current task in cgroup_id or below it? Without the helper for it CGROUP_LEVELS levels are
 * looked at. */
static __always_inline bool scope_cgroup_match(void)
{
	struct cgroup *cg;

	if (scope.by_cgroup == SCOPE_CGROUP_V2)
		return bpf_get_current_ancestor_cgroup_id(scope.cgroup_level) == scope.cgroup_id;
	cg = scope.by_cgroup == SCOPE_CGROUP_V1 ? current_cgroup_v1() : current_cgroup_v2();
	for (int i = 0; i < CGROUP_LEVELS && cg; i++) {
		struct cgroup_subsys_state *up;

		if (BPF_CORE_READ(cg, kn, id) == scope.cgroup_id)
			return true;
		up = BPF_CORE_READ(cg, self.parent);
		cg = up ? BPF_CORE_READ(up, cgroup) : 0;
	}
	return false;
}

static __always_inline bool scope_comm_match(void)
{
	char comm[COMM_LEN] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	for (int i = 0; i < COMM_LEN; i++) {
		if (comm[i] != scope.comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

static __always_inline bool scope_task_match(u64 pid_tgid)
{
	u32 tgid = pid_tgid >> 32, tid = (u32)pid_tgid;

	return tgid == scope.task || bpf_map_lookup_elem(&scope_tasks, &tgid) ||
	       (tid != tgid && bpf_map_lookup_elem(&scope_tasks, &tid));
}

static __always_inline const struct scope_self *scope_now(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scope_self, &zero);
}

static __always_inline bool scope_is_of(const struct scope_self *s, u32 tgid)
{
	if (!scope.except)
		return false;
	if (tgid == scope.except)
		return true;
#pragma unroll
	for (u32 i = 0; i < SELF_HELPERS; i++)
		if (tgid && tgid == s->tgid[i])
			return true;
	return false;
}

/* Is it memwhy, or a process that works for it? */
static __always_inline bool scope_is_self(u32 tgid)
{
	const struct scope_self *s = scope_now();

	return s && scope_is_of(s, tgid);
}

/* Was the current task asked for, be it memwhy or not? */
static __always_inline bool scope_selects(u64 pid_tgid)
{
	if (scope.by_task && !scope_task_match(pid_tgid))
		return false;
	if (scope.by_cgroup && !scope_cgroup_match())
		return false;
	if (scope.by_comm && !scope_comm_match())
		return false;
	return true;
}

/* Does the current task count? To be asked first by every handler. */
static __always_inline bool scope_match(u64 pid_tgid)
{
	const struct scope_self *s = scope_now();

	return s && !s->paused && !scope_is_of(s, pid_tgid >> 32) && scope_selects(pid_tgid);
}

/*
 * Programs on classic tracepoints and probes return 1. With 0 the kernel takes the event away from
 * perf (trace_call_bpf in kernel/trace/bpf_trace.c): `perf stat` of another user would read 0.
 */
#define PASS(handler_)            \
	({                        \
		(void)(handler_); \
		1;                \
	})

SEC("raw_tp/sched_process_fork")
int scope_fork(struct bpf_raw_tracepoint_args *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct task_struct *child = (void *)ctx->args[1];
	u32 tgid;
	u8 one = 1;

	if (!scope_task_match(pid_tgid))
		return 0;
	tgid = BPF_CORE_READ(child, tgid);
	if (tgid != pid_tgid >> 32 && bpf_map_update_elem(&scope_tasks, &tgid, &one, BPF_ANY))
		count_add(lost_scope);
	return 0;
}

/* Without kernel BTF: the field child_pid of the classic tracepoint, where tracefs says it is. A
 * thread's id is added too, which does no harm. */
const volatile u32 fork_child_offset = 0;

SEC("tracepoint/sched/sched_process_fork")
int scope_fork_classic(void *ctx)
{
	u32 child = 0;
	u8 one = 1;

	if (!scope_task_match(bpf_get_current_pid_tgid()))
		return 1;
	bpf_probe_read_kernel(&child, sizeof(child), ctx + fork_child_offset);
	if (child && bpf_map_update_elem(&scope_tasks, &child, &one, BPF_ANY))
		count_add(lost_scope);
	return 1;
}

/* Room for one record in the ring, or NULL, counted as lost. */
static __always_inline void *ring_reserve(u64 size)
{
	void *p = bpf_ringbuf_reserve(&ring, size, 0);

	if (!p)
		count_add(lost_ring);
	return p;
}

/*
 * Hands over a record of ring_reserve. The reader looks every RING_LOOK_NS by itself and is woken
 * only as its backlog passes scope.wake_bytes: a wakeup is an interrupt the CPU sends itself, and
 * costs more than most events.
 */
static __always_inline void ring_submit(void *rec, u64 size)
{
	u64 over = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) - scope.wake_bytes;

	bpf_ringbuf_submit(rec, over < 4 * (size + 8) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* A ring for each CPU, see capture/ring.h. */
#define RINGS(name_)                                      \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, 1);                   \
		__type(key, u32);                         \
		__type(value, u32);                       \
	} name_ SEC(".maps")

/* The header of a record of `size` bytes. */
static __always_inline void rec_fill(struct rec *h, u16 kind, u32 size)
{
	h->size = size;
	h->kind = kind;
	h->flags = 0;
	h->time_ns = bpf_ktime_get_ns();
}

/* Is a stack to be taken for this event (scope.stack_every)? */
static __always_inline bool stack_due(struct probe_counts *c)
{
	return scope.stack_every <= 1 || c->seen % scope.stack_every == 0;
}

/* The key of a stack in a map of stacks; the stack starts with its hash. 0: there is no room, or
 * another stack has its key. */
static __always_inline u32 stack_keep(void *map, const void *stack)
{
	u64 hash = *(const u64 *)stack;
	u32 key = (u32)hash | STACK_WALKED;
	const u64 *kept = bpf_map_lookup_elem(map, &key);

	if (!kept) {
		bpf_map_update_elem(map, &key, stack, BPF_NOEXIST);
		kept = bpf_map_lookup_elem(map, &key);
	}
	return kept && *kept == hash ? key : 0;
}

#ifdef USER_WALK
#include "bpf/unwind.bpf.h"
#else
#include "bpf/recent.bpf.h"
#endif

/* Id of the current stack, see STACK_WALKED; 0: none. flags: 0 or BPF_F_USER_STACK. */
static __always_inline u32 stack_take(void *ctx, u64 flags)
{
	long id;

	if (flags ? !scope.user_stacks : !scope.kernel_stacks)
		return 0;
#ifdef USER_WALK
	if (flags && user_stack_take(&id))
		return (u32)id;
#else
	if (flags && scope.recent) {
		id = recent_take(ctx);
		if (id < 0)
			count_add(lost_stack);
		return id < 0 ? 0 : (u32)id;
	}
#endif
	id = bpf_get_stackid(ctx, &stacks, flags);
	if (id >= 0)
		return (u32)id + 1;
	/* -EFAULT: there is no such stack (a kernel thread has no user stack) */
	if (id != -EFAULT)
		count_add(lost_stack);
	return 0;
}

#define RAW_FRAMES 2 /* see stack_kernel */

/*
 * The kernel's stack from the function with the tracepoint on. In a raw tracepoint two frames come
 * before it: the program, and the bpf_trace_run*() that called it, which has more than one place
 * to call from and so would tell equal stacks apart.
 */
static __always_inline u32 stack_kernel(void *ctx, u64 skip)
{
	long id;

	if (!scope.kernel_stacks)
		return 0;
	id = bpf_get_stackid(ctx, &stacks, skip);
	if (id >= 0)
		return (u32)id + 1;
	count_add(lost_stack);
	return 0;
}

/* The beginning of what the running kernel calls trace_event_raw_NAME. */
#define EVENT(name_, ...)                \
	struct trace_event_raw_##name_ { \
		__VA_ARGS__              \
	} __attribute__((preserve_access_index))

/* See base/util.h. */
static __always_inline u32 log2_slot(u64 v, u32 max)
{
	return log2_branchless(v, max);
}

/* A struct slot for what each task is at, direct-mapped by thread id (n_ is a power of two):
 * cheaper than a hash. A collision, which the slot's own tid shows, loses what was there. */
#define TASK_SLOTS(n_)                                       \
	struct {                                             \
		__uint(type, BPF_MAP_TYPE_ARRAY);            \
		__uint(max_entries, n_);                     \
		__type(key, u32);                            \
		__type(value, struct slot);                  \
	} slots SEC(".maps");                                \
	static __always_inline struct slot *slot_of(u32 tid) \
	{                                                    \
		u32 i = tid & ((n_)-1);                      \
		return bpf_map_lookup_elem(&slots, &i);      \
	}

/* Keys of all tables that were made so far, and at how many the reader wants to be woken, which
 * makes room (0: not). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} table_fill SEC(".maps");

/* A key was made: the reader is woken by a record of no kind. It may be woken twice. */
static __always_inline void table_key_made(void)
{
	u32 zero = 0, one = 1;
	u64 *n = bpf_map_lookup_elem(&table_fill, &zero);
	u64 *wake_at = bpf_map_lookup_elem(&table_fill, &one);
	struct rec *r;

	if (!n || !wake_at)
		return;
	__sync_fetch_and_add(n, 1);
	if (!*wake_at || *n < *wake_at)
		return;
	*wake_at = 0;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) /* full: its reader is on its way */
		return;
	r->size = sizeof(*r);
	r->kind = REC_NONE;
	r->flags = 0;
	r->time_ns = 0;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
}

/* A table of aggregates: one agg_value a key and CPU. */
#define AGG_TABLE(name_, key_)                          \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_PERCPU_HASH); \
		__uint(max_entries, 1);                 \
		__type(key, key_);                      \
		__type(value, struct agg_value);        \
	} name_ SEC(".maps")

static const struct agg_value agg_zero = {};

/* The value of a key, made when there is none; NULL when the table is full, counted as lost. */
static __always_inline struct agg_value *agg_get(void *table, const void *key, u64 events)
{
	struct agg_value *v = bpf_map_lookup_elem(table, key);

	if (v)
		goto seen;
	/* -EEXIST: another CPU was faster */
	if (!bpf_map_update_elem(table, key, &agg_zero, BPF_NOEXIST))
		table_key_made();
	v = bpf_map_lookup_elem(table, key);
	if (!v) {
		struct probe_counts *c = counts();

		if (c)
			c->lost_map += events;
		return 0;
	}
seen:
	if (!v->count) {
		bpf_get_current_comm(v->comm, sizeof(v->comm));
		v->cgroup = current_cgroup_id();
	}
	return v;
}

/* A table of lean values, one a key and CPU. */
#define SUM_TABLE(name_, key_)                          \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_PERCPU_HASH); \
		__uint(max_entries, 1);                 \
		__type(key, key_);                      \
		__type(value, struct sum_value);        \
	} name_ SEC(".maps")

static const struct sum_value sum_zero = {};

/* As agg_get, but nothing is counted as lost when the table is full: the caller has to. */
static __always_inline struct sum_value *sum_get(void *table, const void *key)
{
	struct sum_value *v = bpf_map_lookup_elem(table, key);

	if (!v) {
		if (!bpf_map_update_elem(table, key, &sum_zero, BPF_NOEXIST))
			table_key_made();
		v = bpf_map_lookup_elem(table, key);
	}
	if (v && !v->count) {
		bpf_get_current_comm(v->comm, sizeof(v->comm));
		v->cgroup = current_cgroup_id();
	}
	return v;
}

static __always_inline void agg_time(struct agg_value *v, u64 ns)
{
	v->timed++;
	v->total_ns += ns;
	if (ns > v->max_ns)
		v->max_ns = ns;
	v->hist[log2_slot(ns, AGG_SLOTS - 1) & (AGG_SLOTS - 1)]++;
}

/* The same of how long something lived that was followed: hist in steps of 1024 ns, so that its
 * slots reach half an hour. */
static __always_inline void agg_lifetime(struct agg_value *v, u64 ns)
{
	v->count++;
	v->timed++;
	v->total_ns += ns;
	if (ns > v->max_ns)
		v->max_ns = ns;
	v->hist[log2_slot(ns >> LIFETIME_SHIFT, AGG_SLOTS - 1) & (AGG_SLOTS - 1)]++;
}

char LICENSE[] SEC("license") = "GPL";

#endif
