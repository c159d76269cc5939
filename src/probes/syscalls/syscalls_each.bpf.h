/* --each: a record a call. */
#ifndef MEMWHY_PROBES_SYSCALLS_EACH_BPF_H
#define MEMWHY_PROBES_SYSCALLS_EACH_BPF_H

#include "probes/syscalls/syscalls_copy.bpf.h"

/* Where a record is put together, on each CPU. */
struct draft {
	struct syscalls_call call;
	char text[1280]; /* the copies, and room for what the verifier thinks */
};

#define DRAFT_AT 511 /* no copy begins behind it */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct draft);
} drafts SEC(".maps");

static __always_inline u32 draft_exec(const struct exec_begun *e, struct draft *d)
{
	struct syscalls_call *c = &d->call;
	u16 flags = e->flags;
	u32 at;

	__builtin_memcpy(c->args, e->args, sizeof(c->args));
	c->copied[0] =
		exec_text(d->text, SYSCALLS_TEXT, e->text, e->size[0], SYSCALLS_CUT_0, &flags);
	at = c->copied[0] & (2 * SYSCALLS_TEXT - 1);
	c->copied[1] = exec_text(
		d->text + at, SYSCALLS_ARGV, e->argv, e->size[1], SYSCALLS_CUT_0 << 1, &flags);
	c->flags |= flags;
	return at + c->copied[1];
}

/* Returns the bytes of all copies. */
static __always_inline u32 draft_copy(
	const struct syscall_call *call, const struct thread *t, struct draft *d)
{
	const struct exec_begun *e = exec_of(call);
	struct copying *c = copying_begin(call->ret);
	u64 args[SYSCALLS_ARGS];

	if (e)
		return draft_exec(e, d);
	syscall_args(call, args);
	__builtin_memcpy(d->call.args, args, sizeof(args));
	if (!c)
		return 0;
	__builtin_memcpy(c->kept, t->kept, sizeof(c->kept));
#pragma unroll
	for (u32 k = 0; k < SYSCALLS_COPIES; k++) {
		u32 at = c->at, n;

		c->how = d->call.copy[k];
		c->which = k;
		if (!c->how || at > DRAFT_AT)
			break;
		asm volatile("%0 &= 511" : "+r"(at));
		n = copy_one(c, d->call.args, d->text + at, SYSCALLS_COPY_MOST);
		d->call.copied[k] = n;
		c->at = at + n;
	}
	d->call.flags |= c->flags;
	return c->at;
}

static __always_inline u64 thread_cgroup(const struct syscall_call *call, struct thread *t)
{
	u64 side = thread_side(call);

	if (t->side != side) {
		t->cgroup = current_cgroup_id();
		t->side = side;
	}
	return t->cgroup;
}

static __always_inline void draft_fill(
	const struct syscall_call *call, struct thread *t, u16 flags, struct syscalls_call *c)
{
	c->tgid = call->pid_tgid >> 32;
	c->tid = (u32)call->pid_tgid;
	c->ustack = stack_take(call->ctx, BPF_F_USER_STACK);
	c->kstack = 0;
	c->ret = call->ret;
	c->ns = call_ns(call);
	c->cgroup = thread_cgroup(call, t);
	c->nr = call->nr;
	c->abi = call->abi;
	c->flags = flags;
	for (u32 k = 0; k < SYSCALLS_COPIES; k++) {
		c->copy[k] = copy_how(call, k);
		c->copied[k] = 0;
	}
	for (int i = 0; i < SYSCALLS_PARTS; i++)
		c->part_ns[i] = config.memory ? t->part_ns[i] : 0;
	bpf_get_current_comm(c->comm, sizeof(c->comm));
}

static __always_inline void each_send(const struct syscall_call *call, struct thread *t, u16 flags)
{
	struct probe_counts *c;
	struct draft *d;
	u32 zero = 0;
	u64 size, over;

	if (config.min_ns && call_ns(call) < config.min_ns)
		return;
	c = counts();
	d = bpf_map_lookup_elem(&drafts, &zero);
	if (!c || !d)
		return;
	c->seen++;
	draft_fill(call, t, flags, &d->call);
	size = sizeof(d->call) + ((draft_copy(call, t, d) + 7) & 0x3f8);
	d->call.h.size = size;
	d->call.h.kind = REC_SYSCALLS_CALL;
	d->call.h.flags = 0;
	d->call.h.time_ns = call->now_ns ? call->now_ns : bpf_ktime_get_ns();
	over = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) - scope.wake_bytes;
	if (bpf_ringbuf_output(
		    &ring, d, size, over < 4 * sizeof(*d) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		c->lost_ring++;
}

#endif
