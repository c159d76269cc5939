/*
 * The allocator of a running process, followed by probes at its functions: who allocates and frees,
 * what is live, and what was at the peak.
 *
 * A call is known from its beginning to its return by where the stack pointer was: calls of the
 * allocator's functions among themselves (realloc calls malloc) begin further down, or at the same
 * place where one jumps to the other, and are part of it. The stack is taken at the return, when
 * all registers are the caller's again: so the immediate caller is right also where frame pointers
 * are all there is.
 */
#include "probes/heap/attach/heap_sample.bpf.h"
#include "probes/heap/attach/heap_sums.bpf.h"

static __always_inline struct heap_process_now *process_at(u32 number)
{
	return bpf_map_lookup_elem(&heap_processes, &number);
}

static __always_inline bool counts_now(const struct heap_process_now *p)
{
	u32 zero = 0, *gate = bpf_map_lookup_elem(&heap_gate, &zero);

	return p && p->on && gate && *gate;
}

/* The process of a call, if it counts now. */
static __always_inline struct heap_process_now *process_of(u32 *number)
{
	struct heap_process_now *p;
	u32 tgid, *n;

	if (config.several) {
		tgid = bpf_get_current_pid_tgid() >> 32;
		n = bpf_map_lookup_elem(&heap_numbers, &tgid);
		if (!n)
			return 0;
		*number = *n;
	}
	p = process_at(*number);
	return counts_now(p) ? p : 0;
}

static __always_inline struct heap_thread_now *thread_get(u32 process)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 tid = (u32)id;
	struct heap_thread_now *t = bpf_map_lookup_elem(&heap_threads, &tid);

	if (t)
		return t;
	bpf_map_update_elem(&heap_threads, &tid, &thread_zero, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&heap_threads, &tid);
	if (t) {
		t->id = HEAP_THREAD_ID(tid, bpf_ktime_get_ns());
		t->sums.process = process;
		t->sums.tgid = id >> 32;
		bpf_get_current_comm(t->sums.comm, sizeof(t->sums.comm));
		if (config.sample_bytes)
			t->until_sample = sample_gap();
	}
	return t;
}

/* Is this at `sp` part of the call that the thread is in? A call whose return was not seen is
 * dropped when the stack is seen above it. */
static __always_inline bool is_inner(
	struct heap_process_now *p, struct heap_thread_now *t, struct pt_regs *ctx)
{
	u64 sp = PT_REGS_SP(ctx);

	if (!t->sp)
		return false;
	if (sp < t->sp || (sp == t->sp && PT_REGS_IP(ctx) != t->ip))
		return true;
	add(p->untold, 1);
	t->sp = 0;
	return false;
}

/* Of a call: the cookie says where its arguments are, if no longer in their own registers. */
static __always_inline u64 argument_moved(struct pt_regs *ctx, u64 cookie, u32 n)
{
	u64 word = cookie >> HEAP_COOKIE_WORD_SHIFT(n) & HEAP_COOKIE_WORD_MASK, value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (u64 *)ctx + word);
	return value;
}

static __always_inline u64 argument(struct pt_regs *ctx, u64 cookie, u32 n)
{
	if (cookie & HEAP_COOKIE_MOVED)
		return argument_moved(ctx, cookie, n);
	return n == 0 ? PT_REGS_PARM1(ctx) : n == 1 ? PT_REGS_PARM2(ctx) : PT_REGS_PARM3(ctx);
}

static __always_inline u64 size_of(struct pt_regs *ctx, u64 cookie, u32 calls)
{
	switch (calls) {
	case CALLS_ARRAY:
		return argument(ctx, cookie, 0) * argument(ctx, cookie, 1);
	case CALLS_RESIZE:
	case CALLS_ALIGNED:
		return argument(ctx, cookie, 1);
	case CALLS_RESIZE_ARRAY:
		return argument(ctx, cookie, 1) * argument(ctx, cookie, 2);
	case CALLS_POSIX:
		return argument(ctx, cookie, 2);
	default:
		return argument(ctx, cookie, 0);
	}
}

/* Takes the block from the live ones, so that another thread that gets its address meanwhile finds
 * nothing there. It is counted when realloc returns. */
static __always_inline void block_take(struct heap_thread_now *t, u32 process, u64 address)
{
	u64 key = HEAP_BLOCK_KEY(process, address);
	struct heap_block *b = address ? bpf_map_lookup_elem(&heap_live, &key) : 0;

	t->moved.weight = 0;
	if (!b)
		return;
	t->moved = *b;
	if (bpf_map_delete_elem(&heap_live, &key))
		t->moved.weight = 0;
}

/* An allocation begins. Is its return wanted? */
static __always_inline bool enter(struct pt_regs *ctx, u32 process, u32 calls, u64 cookie)
{
	struct heap_process_now *p = process_of(&process);
	struct heap_thread_now *t;
	u64 size;

	if (!p)
		return false;
	t = thread_get(process);
	if (!t) {
		struct probe_counts *c = counts();

		if (c) {
			c->seen++;
			c->lost_map++;
		}
		return false;
	}
	if (is_inner(p, t, ctx))
		return false;
	size = size_of(ctx, cookie, calls);
	t->weight = config.sample_bytes ? sample_weight(t, size) : 1;
	/* these call others, which are not to be looked at */
	if (!t->weight && !resizes(calls) && calls != CALLS_NEW)
		return false;
	t->size = size;
	t->calls = calls;
	t->where = argument(ctx, cookie, 0);
	if (resizes(calls))
		block_take(t, process, t->where);
	t->ip = PT_REGS_IP(ctx);
	t->sp = PT_REGS_SP(ctx);
	return true;
}

/* What the call returned; 0: nothing. */
static __always_inline u64 given(struct pt_regs *ctx, const struct heap_thread_now *t)
{
	u64 address = PT_REGS_RC(ctx);

	if (t->calls != CALLS_POSIX)
		return address;
	if ((u32)address || bpf_probe_read_user(&address, sizeof(address), (void *)t->where))
		return 0;
	return address;
}

/* realloc gave nothing: the block is as it was, but for a size of 0, which frees it. */
static __always_inline void not_moved(
	struct heap_process_now *p, struct heap_thread_now *t, struct probe_counts *c)
{
	u64 key = HEAP_BLOCK_KEY(t->sums.process, t->where);

	if (t->size)
		add(p->failed, 1);
	if (!t->where)
		return;
	if (!t->size)
		freed(p, t, &t->moved, c);
	else if (t->moved.weight && bpf_map_update_elem(&heap_live, &key, &t->moved, BPF_NOEXIST))
		c->lost_map++, c->seen++;
}

/* A call returns. */
static __always_inline void leave(struct pt_regs *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct heap_thread_now *t = bpf_map_lookup_elem(&heap_threads, &tid);
	u64 at = PT_REGS_SP(ctx) - 8, address; /* the return address is off the stack */
	struct heap_process_now *p;
	struct probe_counts *c = counts();

	if (!t || !t->sp || at < t->sp || !c)
		return;
	p = process_at(t->sums.process);
	if (!p)
		return;
	if (at > t->sp)
		add(p->untold, 1);
	else if (counts_now(p)) {
		address = given(ctx, t);
		if (!address && resizes(t->calls))
			not_moved(p, t, c);
		else if (!address)
			add(p->failed, 1);
		else
			allocated(ctx, p, t, address, c);
	}
	t->sp = 0;
}

static __always_inline void enter_free(struct pt_regs *ctx, u32 process, u64 cookie)
{
	u64 address = argument(ctx, cookie, 0), key;
	struct heap_process_now *p = address ? process_of(&process) : 0;
	struct probe_counts *c = counts();
	struct heap_block b = {}, *found;
	struct heap_thread_now *t;

	if (!p || !c)
		return;
	key = HEAP_BLOCK_KEY(process, address);
	found = bpf_map_lookup_elem(&heap_live, &key);
	if (!found && config.sample_bytes)
		return;
	t = thread_get(process);
	if (t && is_inner(p, t, ctx))
		return;
	if (found) {
		b = *found;
		if (bpf_map_delete_elem(&heap_live, &key))
			b.weight = 0;
	} else if (t && t->freed == address) {
		return; /* delete, which goes on to free */
	}
	freed(p, t, &b, c);
	if (t)
		t->freed = address;
}

static __always_inline bool begin(struct pt_regs *ctx, u32 process, u32 calls, u64 cookie)
{
	if (calls != CALLS_FREE)
		return enter(ctx, process, calls, cookie);
	enter_free(ctx, process, cookie);
	return false;
}

/* One program for begin and return, see capture/uprobe.h. The result says whether the return is to
 * be skipped. */
SEC("uprobe")
int session(struct pt_regs *ctx)
{
	u64 cookie;

	stack_of_task(ctx);
	if (PT_REGS_IP(ctx) != bpf_get_func_ip(ctx)) {
		leave(ctx);
		return 0;
	}
	cookie = bpf_get_attach_cookie(ctx);
	return !begin(ctx, (u32)(cookie >> 8), cookie & 0xff, cookie);
}

/* Older kernels: a program for each kind. Of several processes the number is looked up. */
#define BEGIN(name_, calls_)                           \
	SEC("uprobe")                                  \
	int name_(struct pt_regs *ctx)                 \
	{                                              \
		stack_of_task(ctx);                    \
		return PASS(begin(ctx, 0, calls_, 0)); \
	}

BEGIN(enter_size, CALLS_SIZE)
BEGIN(enter_new, CALLS_NEW)
BEGIN(enter_array, CALLS_ARRAY)
BEGIN(enter_resize, CALLS_RESIZE)
BEGIN(enter_resize_array, CALLS_RESIZE_ARRAY)
BEGIN(enter_aligned, CALLS_ALIGNED)
BEGIN(enter_posix, CALLS_POSIX)
BEGIN(enter_freeing, CALLS_FREE)

SEC("uprobe")
int leave_any(struct pt_regs *ctx)
{
	stack_of_task(ctx);
	return PASS((leave(ctx), 0));
}

static __always_inline struct heap_process_now *process_current(void)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32,
	    *number = bpf_map_lookup_elem(&heap_numbers, &tgid);

	return number ? process_at(*number) : 0;
}

/* TP_PROTO(struct task_struct *parent, struct task_struct *child), 5.10 to 7.3 */
SEC("raw_tp/sched_process_fork")
int heap_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct heap_process_now *p = process_current();
	struct task_struct *child = (void *)ctx->args[1];

	if (p && BPF_CORE_READ(child, tgid) != bpf_get_current_pid_tgid() >> 32)
		add(p->forks, 1);
	return 0;
}

/* What runs from here on is another program. */
SEC("raw_tp/sched_process_exec")
int heap_exec(void *ctx)
{
	struct heap_process_now *p = process_current();

	if (p && p->awaits) {
		p->awaits = 0;
		p->begun_ns = bpf_ktime_get_ns();
		p->on = 1;
	} else if (p && p->on) {
		p->on = 0;
		p->replaced = 1;
		p->ended_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* No room: the thread is one of those that are not told apart. */
static __always_inline void ended_add(const struct heap_thread_sums *t)
{
	u64 id = t->process;
	struct heap_thread_sums *s = bpf_map_lookup_elem(&heap_ended, &id);

	if (!s)
		return;
	add(s->allocations, t->allocations);
	add(s->bytes, t->bytes);
	add(s->frees, t->frees);
	add(s->freed_bytes, t->freed_bytes);
	add(s->temporary, t->temporary);
	add(s->own_blocks, t->own_blocks);
	add(s->own_bytes, t->own_bytes);
}

static __always_inline void thread_end(struct heap_process_now *p)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct heap_thread_now *t = bpf_map_lookup_elem(&heap_threads, &tid);

	if (!t)
		return;
	bpf_get_current_comm(t->sums.comm, sizeof(t->sums.comm));
	if (bpf_map_update_elem(&heap_ended, &t->id, &t->sums, BPF_NOEXIST)) {
		ended_add(&t->sums);
		add(p->mixed, 1);
	}
	bpf_map_delete_elem(&heap_threads, &tid);
}

SEC("raw_tp/sched_process_exit")
int heap_exit(void *ctx)
{
	struct heap_process_now *p = process_current();

	if (!p)
		return 0;
	thread_end(p);
	if (p->on)
		p->ended_ns = bpf_ktime_get_ns();
	return 0;
}
