/*
 * Calls on NUMA memory policy. A call is advisory: so its record also says where the pages of its
 * range were as it began, how many of them the kernel moved meanwhile (migrate:mm_migrate_pages, in
 * the same thread), and where they were after it.
 */
#include "probes/policy/policy_array.bpf.h"

struct policy_thread_state {
	struct syscall_thread sys;
};

SYSCALL_THREADS(struct policy_thread_state);
AGG_TABLE(table, struct policy_key);

/* Without --each the first calls with a warning, or an error, are sent as they are, so that there
 * is an example to show; the others are counted. */
#define EXAMPLES 64

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 32);
	__type(key, u32);
	__type(value, u32);
} examples SEC(".maps");

static __always_inline struct policy_call *call_open(const struct syscall_call *call)
{
	u32 tid = (u32)call->pid_tgid;
	struct policy_call *e;

	if (bpf_map_update_elem(&calls, &tid, &call_zero, BPF_ANY))
		return 0;
	e = bpf_map_lookup_elem(&calls, &tid);
	if (!e)
		return 0;
	e->tgid = call->pid_tgid >> 32;
	e->tid = tid;
	e->call = call->nr;
	syscall_args(call, e->args);
	return e;
}

static __always_inline bool moves_own_pages(const struct policy_call *e)
{
	return !(s32)e->args[0] || (u32)e->args[0] == e->tgid;
}

__noinline int places_before(u32 tid)
{
	struct policy_call *e = bpf_map_lookup_elem(&calls, &tid);

	if (!e)
		return 0;
	if (e->call != CALL_GET_MEMPOLICY)
		masks_read(e);
	usable_read(e);
	if (!config.places)
		return 0;
	if (e->call == CALL_MBIND || e->call == CALL_HOME_NODE)
		range_look(tid, 0);
	else if (e->call == CALL_MOVE_PAGES && moves_own_pages(e))
		array_look(tid);
	else
		return 0;
	e->flags |= POLICY_LOOKED;
	return 0;
}

/* What the kernel wrote for get_mempolicy. */
static __always_inline void answer_read(struct policy_call *e)
{
	if (e->args[1])
		masks_read(e);
	e->masks[0].cut = 0;
	if (e->args[0] && !bpf_probe_read_user(&e->answer, sizeof(e->answer), (void *)e->args[0]))
		e->flags |= POLICY_ANSWER;
}

__noinline int places_after(u32 tid)
{
	struct policy_call *e = bpf_map_lookup_elem(&calls, &tid);

	if (!e)
		return 0;
	if (e->flags & POLICY_REFUSED ||
		((e->masks[0].state | e->masks[1].state) & MASK_UNREADABLE && e->ret != -EFAULT))
		masks_read(e); /* the kernel has paged it in */
	if (e->ret < 0)
		return 0;
	if (e->call == CALL_GET_MEMPOLICY)
		answer_read(e);
	if (e->call == CALL_MOVE_PAGES)
		status_read(tid);
	if (e->call == CALL_MBIND && e->args[5] & (MOVE_OWN | MOVE_ALL) && config.places) {
		range_look(tid, 1);
		e->flags |= POLICY_AFTER;
	}
	return 0;
}

__noinline int call_judge(u32 tid)
{
	struct policy_call *e = bpf_map_lookup_elem(&calls, &tid);
	const struct policy_config *known = (const struct policy_config *)&config;

	barrier_var(known); /* or the compiler takes it for what it is in this file: zero */
	if (e)
		e->warnings = policy_judge(e, known);
	return 0;
}

static __always_inline bool call_began(struct syscall_call *call, struct policy_thread_state *t)
{
	struct policy_call *e;

	if (call->abi != SYSCALL_NATIVE)
		return false;
	e = call_open(call);
	if (!e) {
		syscall_state_lost();
		return false;
	}
	e->anon_pages = anon_pages();
	if (e->call == CALL_MBIND || e->call == CALL_HOME_NODE)
		map_find(e, e->args[0], call->direct);
	else if (e->call == CALL_GET_MEMPOLICY && e->args[4] & GET_ADDR)
		map_find(e, e->args[3], call->direct);
	places_before(e->tid);
	return true;
}

/* False: the ring is full. */
static __always_inline bool call_send(const struct policy_call *e)
{
	struct policy_call *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r)
		return false;
	bpf_probe_read_kernel(r, sizeof(*r), e);
	rec_fill(&r->h, REC_POLICY_CALL, sizeof(*r));
	r->cgroup = current_cgroup_id();
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	ring_submit(r, sizeof(*r));
	return true;
}

static __always_inline void call_count(const struct policy_call *e)
{
	struct policy_key key = {
		.tgid = e->tgid,
		.tid = scope.by_thread ? e->tid : 0,
		.ustack = e->ustack,
		.kstack = e->kstack,
		.call = e->call,
		.mode = policy_mode(e),
		.flags = policy_call_flags(e),
		.error = e->ret < 0 ? (s32)-e->ret : 0,
		.warnings = e->warnings,
	};
	struct agg_value *v = agg_get(&table, &key, 1);
	struct policy_placed p;

	if (!v)
		return;
	v->count++;
	if (e->start_ns)
		agg_time(v, e->ns);
	v->sum[POLICY_PAGES] += policy_range_pages(e);
	v->sum[POLICY_MOVED] += e->moved;
	v->sum[POLICY_NOT_MOVED] += e->unmoved;
	p = policy_placed(e);
	v->sum[POLICY_ON_BEFORE] += p.on_before;
	v->sum[POLICY_OFF_BEFORE] += p.off_before;
	v->sum[POLICY_ON_AFTER] += p.on_after;
	v->sum[POLICY_OFF_AFTER] += p.off_after;
}

/* Is it one of the first that have its warning? */
static __always_inline bool is_example(const struct policy_call *e)
{
	u32 i = 31, *n;

	if (!e->warnings && e->ret >= 0)
		return false;
	for (u32 bit = 0; bit < POLICY_WARNING_N; bit++)
		if (e->warnings >> bit & 1)
			i = bit;
	n = bpf_map_lookup_elem(&examples, &i);
	if (!n || *n >= EXAMPLES)
		return false;
	__sync_fetch_and_add(n, 1); /* several at once may be one too many: what it was before is
				     * told since Linux 5.12 only */
	return true;
}

static __always_inline void call_ended(struct syscall_call *call, struct policy_thread_state *t)
{
	u32 tid = (u32)call->pid_tgid;
	struct probe_counts *c;
	struct policy_call *e;

	if (call->abi != SYSCALL_NATIVE)
		return;
	e = call->refused ? call_open(call) : bpf_map_lookup_elem(&calls, &tid);
	if (!e) {
		syscall_state_lost();
		return;
	}
	e->ret = call->ret;
	e->start_ns = call->start_ns;
	e->ns = call->start_ns ? call->now_ns - call->start_ns : 0;
	c = counts();
	if (!c || e->ns < config.min_ns)
		goto out;
	c->seen++;
	if (call->refused)
		e->flags |= POLICY_REFUSED;
	places_after(tid);
	call_judge(tid);
	if (stack_due(c)) {
		e->ustack = stack_take(call->ctx, BPF_F_USER_STACK);
		e->kstack = 0; /* it would be that of the end of a system call */
	}
	if (scope.each) {
		if (!call_send(e))
			c->lost_ring++;
	} else if (!is_example(e) || !call_send(e)) {
		call_count(e);
	}
out:
	bpf_map_delete_elem(&calls, &tid);
}

SYSCALL_PROGRAMS(call_began, call_ended)

/* include/linux/migrate_mode.h: enum migrate_reason, the same from 5.10 to 7.3 */
#define REASON_SYSCALL 3
#define REASON_MBIND 4

static __always_inline int pages_migrated(u64 succeeded, u64 failed, u32 reason)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct policy_call *e;

	if (reason != REASON_SYSCALL && reason != REASON_MBIND)
		return 0;
	e = bpf_map_lookup_elem(&calls, &tid);
	if (!e)
		return 0;
	e->moved += succeeded;
	e->unmoved += failed;
	return 0;
}

/* As it is where raw tracepoints are preemptible; an int before that does not fit an enum. */
enum migrate_reason { MR_COMPACTION };

EVENT(mm_migrate_pages, unsigned long succeeded; unsigned long failed;
	unsigned long large_folio_split; enum migrate_reason reason;);

/* Where raw tracepoints are preemptible: see probes/reclaim/reclaim_classic.bpf.h. */
SEC("tp/migrate/mm_migrate_pages")
int tp_migrated(struct trace_event_raw_mm_migrate_pages *e)
{
	return PASS(pages_migrated(e->succeeded, e->failed, e->reason));
}

/*
 * (unsigned long succeeded, failed, thp_succeeded, thp_failed, thp_split, enum migrate_mode mode,
 * int reason); large_folio_split before mode since 6.7.
 */
SEC("raw_tp/mm_migrate_pages")
int raw_migrated_8(struct bpf_raw_tracepoint_args *ctx)
{
	return pages_migrated(ctx->args[0], ctx->args[1], ctx->args[7]);
}

SEC("raw_tp/mm_migrate_pages")
int raw_migrated_7(struct bpf_raw_tracepoint_args *ctx)
{
	return pages_migrated(ctx->args[0], ctx->args[1], ctx->args[6]);
}
