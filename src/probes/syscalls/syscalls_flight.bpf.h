/*
 * --flight: the last calls of each control group or process, in rings that overwrite themselves.
 * Each CPU has a ring of its own of each, so that nothing is shared in the path of a call. Rings
 * are given out from a queue of free ones. That of a process that has ended goes back to its end,
 * and is readable until somebody else needs it.
 *
 * What makes a dump (a slow call, an error, an end) tells user space, which then reads the ring.
 * Meanwhile calls go into its other half, so what came before the dump stays and nothing is left
 * out. Until user space has read it no other call makes a dump of that ring; ends of processes do.
 */
#ifndef MEMWHY_PROBES_SYSCALLS_FLIGHT_BPF_H
#define MEMWHY_PROBES_SYSCALLS_FLIGHT_BPF_H

#include "probes/syscalls/syscalls_copy.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct syscalls_ring);
} flight_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, u32);
} flight_free SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} flight_owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct syscalls_flight);
} flight_state SEC(".maps");

/* Calls kept so far in a ring, by CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} flight_kept SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct syscalls_slot);
} flight_slots SEC(".maps");

static __always_inline u32 flight_ring_new(u64 owner)
{
	u32 zero = 0, ring, *other;
	struct syscalls_flight *state = bpf_map_lookup_elem(&flight_state, &zero);
	struct syscalls_ring *r;

	if (!state || !state->ready)
		return 0;
	if (bpf_map_pop_elem(&flight_free, &ring)) {
		__sync_fetch_and_add(&state->homeless, 1);
		return 0;
	}
	r = bpf_map_lookup_elem(&flight_rings, &ring);
	if (!r)
		return 0;
	if (r->owner)
		bpf_map_delete_elem(&flight_owners, &r->owner);
	r->owner = owner;
	if (bpf_map_update_elem(&flight_owners, &owner, &ring, BPF_NOEXIST)) {
		/* another CPU was faster */
		r->owner = 0;
		bpf_map_push_elem(&flight_free, &ring, 0);
		other = bpf_map_lookup_elem(&flight_owners, &owner);
		return other ? *other + 1 : 0;
	}
	return ring + 1;
}

static __always_inline u32 flight_ring_of(u64 owner)
{
	u32 *ring = bpf_map_lookup_elem(&flight_owners, &owner);

	return ring ? *ring + 1 : flight_ring_new(owner);
}

static __always_inline u64 flight_owner(u64 pid_tgid)
{
	/* a group that cannot be known is one, too */
	return config.by_process ? pid_tgid >> 32 : current_cgroup_id() + 1;
}

static __always_inline void flight_dump(u32 ring, struct syscalls_ring *r, u8 why, u64 detail)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct syscalls_dump *d;

	if (r->dumping && why < SYSCALLS_WHY_EXIT) {
		__sync_fetch_and_add(&r->missed, 1);
		return;
	}
	count_add(seen);
	d = ring_reserve(sizeof(*d));
	if (!d)
		return;
	rec_fill(&d->h, REC_SYSCALLS_DUMP, sizeof(*d));
	d->key = r->owner;
	d->detail = detail;
	d->kept = 0;
	d->missed = 0;
	d->ring = ring;
	d->tgid = pid_tgid >> 32;
	d->tid = (u32)pid_tgid;
	d->why = why;
	d->by_process = config.by_process;
	d->reserved[0] = d->reserved[1] = 0;
	bpf_get_current_comm(d->comm, sizeof(d->comm));
	if (!r->dumping)
		r->half ^= 1;
	r->dumping = 1;
	bpf_ringbuf_submit(d, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void flight_exec(const struct exec_begun *e, struct syscalls_slot *s)
{
	u16 flags = e->flags;

	__builtin_memcpy(s->args, e->args, sizeof(s->args));
	s->copied[0] = exec_text(
		s->text, SYSCALLS_FLIGHT_ROOM(0), e->text, e->size[0], SYSCALLS_CUT_0, &flags);
	s->copied[1] = exec_text(s->text + SYSCALLS_FLIGHT_AT(1), SYSCALLS_FLIGHT_ROOM(1), e->argv,
		e->size[1], SYSCALLS_CUT_0 << 1, &flags);
	s->flags |= flags;
}

static __always_inline void flight_copy(
	const struct syscall_call *call, const struct thread *t, struct syscalls_slot *s)
{
	const struct exec_begun *e = exec_of(call);
	struct copying *c = copying_begin(call->ret);
	u64 args[SYSCALLS_ARGS];

	if (e) {
		flight_exec(e, s);
		return;
	}
	syscall_args(call, args);
	__builtin_memcpy(s->args, args, sizeof(args));
	if (!c || !s->copy[0])
		return;
	__builtin_memcpy(c->kept, t->kept, sizeof(c->kept));
#pragma unroll
	for (u32 k = 0; k < SYSCALLS_COPIES; k++) {
		c->how = s->copy[k];
		c->which = k;
		if (!c->how)
			break;
		s->copied[k] = copy_one(
			c, s->args, s->text + SYSCALLS_FLIGHT_AT(k), SYSCALLS_FLIGHT_ROOM(k));
	}
	s->flags |= c->flags;
}

static __always_inline void flight_write(const struct syscall_call *call, const struct thread *t,
	u16 flags, struct syscalls_slot *s, u64 sequence)
{
	*(volatile u64 *)&s->sequence = 0;
	barrier();
	s->time_ns = call->now_ns;
	s->ns = call_ns(call);
	s->ret = call->ret;
	s->tgid = call->pid_tgid >> 32;
	s->tid = (u32)call->pid_tgid;
	s->nr = call->nr;
	s->abi = call->abi;
	s->flags = flags;
	for (u32 k = 0; k < SYSCALLS_COPIES; k++) {
		s->copy[k] = copy_how(call, k);
		s->copied[k] = 0;
	}
	bpf_get_current_comm(s->comm, sizeof(s->comm));
	flight_copy(call, t, s);
	barrier();
	*(volatile u64 *)&s->sequence = sequence;
}

/* Does this call make a dump? */
static __always_inline u8 flight_why(const struct syscall_call *call, u16 flags, u64 *detail)
{
	if (flags & SYSCALLS_NO_END)
		return SYSCALLS_WHY_ASKED;
	if (config.dump_ns && call_ns(call) >= config.dump_ns) {
		*detail = call_ns(call);
		return SYSCALLS_WHY_SLOW;
	}
	if (config.dump_error && call_failed(call) &&
		(config.dump_error < 0 || call->ret == -(s64)config.dump_error)) {
		*detail = -call->ret;
		return SYSCALLS_WHY_FAILED;
	}
	return SYSCALLS_WHY_ASKED;
}

static __always_inline void flight_keep(
	const struct syscall_call *call, struct thread *t, u16 flags)
{
	u64 side = config.by_process ? call->pid_tgid >> 32 : thread_side(call);
	u64 *kept, detail = 0;
	struct syscalls_slot *s;
	struct syscalls_ring *r;
	u32 ring, slot;
	u8 why;

	if (t->side != side || !t->ring) {
		t->ring = flight_ring_of(flight_owner(call->pid_tgid));
		t->side = side;
		if (!t->ring)
			return;
	}
	ring = t->ring - 1;
	r = bpf_map_lookup_elem(&flight_rings, &ring);
	kept = bpf_map_lookup_elem(&flight_kept, &ring);
	if (!r || !kept)
		return;
	slot = (ring * config.cpus + bpf_get_smp_processor_id()) * 2 + (r->half & 1);
	slot = slot * config.ring_calls + (u32)(*kept & (config.ring_calls - 1));
	s = bpf_map_lookup_elem(&flight_slots, &slot);
	if (!s)
		return;
	flight_write(call, t, flags, s, ++*kept);
	why = flight_why(call, flags, &detail);
	if (why)
		flight_dump(ring, r, why, detail);
}

/* linux/sched/signal.h */
struct signal_struct___exit {
	struct {
		int counter;
	} live;
	int group_exit_code;
} __attribute__((preserve_access_index));

struct task_struct___exit {
	struct signal_struct___exit *signal;
	int exit_code;
} __attribute__((preserve_access_index));

/* The last thread of a process ends. */
static __always_inline int flight_ended(void)
{
	struct task_struct___exit *task = (void *)bpf_get_current_task();
	u64 pid_tgid = bpf_get_current_pid_tgid(), owner = flight_owner(pid_tgid);
	struct syscalls_ring *r;
	u32 *found, ring;
	int code;

	if (!scope_match(pid_tgid) || BPF_CORE_READ(task, signal, live.counter))
		return 0;
	found = bpf_map_lookup_elem(&flight_owners, &owner);
	if (!found)
		return 0;
	ring = *found;
	r = bpf_map_lookup_elem(&flight_rings, &ring);
	if (!r)
		return 0;
	code = BPF_CORE_READ(task, signal, group_exit_code);
	if (!code)
		code = BPF_CORE_READ(task, exit_code);
	if (config.dump_crash && code & 0x7f)
		flight_dump(ring, r, SYSCALLS_WHY_CRASH, (u32)code);
	else if (config.dump_exit)
		flight_dump(ring, r, SYSCALLS_WHY_EXIT, (u32)code);
	if (config.by_process)
		bpf_map_push_elem(&flight_free, &ring, 0);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int flight_exit(void *ctx)
{
	(void)ctx;
	return flight_ended();
}

SEC("tp/sched/sched_process_exit")
int flight_exit_tp(void *ctx)
{
	(void)ctx;
	return PASS(flight_ended());
}

#endif
