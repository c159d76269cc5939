/* System calls that change an address space, as they begin and end: a count, or a record each. */
#include "bpf/common.bpf.h"
#include "probes/maps/maps_fails.bpf.h"
#include "probes/maps/maps_space.bpf.h"
#include "probes/maps/maps_what.bpf.h"
#include "probes/maps/maps_why.bpf.h"

static __always_inline bool maps_began(struct syscall_call *call, struct maps_thread *t)
{
	const struct mm_struct___maps *mm = current_mm();
	struct maps_space *s;
	int is_shm = 0;

	t->skip = call->abi != SYSCALL_NATIVE;
	if (t->skip)
		return true;
	args_take(call, t);
	if (takes_path(t->call)) {
		is_shm = path_is_shm(t->args[1]);
		t->skip = !is_shm;
		if (t->skip)
			return true;
	}
	t->doubt = is_shm < 0;
	t->alone = 0;
	if (config.failures) { /* why is all that matters: no address space is followed */
		t->brk = bpf_core_field_exists(mm->total_vm)
				 ? BPF_CORE_READ((const struct mm_struct *)mm, brk)
				 : 0;
		return true;
	}
	s = space_of(call->pid_tgid >> 32, true);
	if (!s)
		return true;
	space_begin(s, t);
	if (!bpf_core_field_exists(mm->total_vm))
		return true;
	t->pages = BPF_CORE_READ(mm, total_vm);
	t->brk = BPF_CORE_READ((const struct mm_struct *)mm, brk);
	space_enter(s, t, mm);
	return true;
}

static __always_inline void key_fill(struct maps_thread *t, u64 pid_tgid)
{
	struct maps_key *k = &t->key;

	__builtin_memset(k, 0, sizeof(*k));
	k->tgid = pid_tgid >> 32;
	k->tid = scope.by_thread ? (u32)pid_tgid : 0;
	k->object = t->error ? t->what.limit : config.mapping ? t->what.object : 0;
	k->length = config.sizes ? t->length : 0;
	k->detail = t->call == MAPS_MADVISE           ? (u32)t->args[2]
		    : t->call == MAPS_PROCESS_MADVISE ? (u32)t->args[3]
		    : t->call == MAPS_SHMCTL          ? (u32)t->args[1]
						      : 0;
	k->error = t->error;
	k->call = t->call;
	k->kind = t->what.kind;
	k->why = t->what.why;
	if (config.comms)
		bpf_get_current_comm(k->comm, sizeof(k->comm));
}

static __always_inline void call_count(struct maps_thread *t)
{
	struct agg_value *v = agg_get(&table, &t->key, 1);

	if (!v)
		return;
	if (config.mapping && !v->count && t->call != MAPS_MEMFD_CREATE) /* the file's is longer */
		__builtin_memcpy(v->name, t->what.name, sizeof(v->name) - 1);
	v->count++;
	if (t->ns)
		agg_time(v, t->ns);
	if (t->error || t->call != MAPS_SHMGET) /* it may be told any size, and maps nothing */
		v->sum[MAPS_SUM_LENGTH] += t->length;
	if (!t->error)
		v->sum[MAPS_SUM_HELD] += held_bytes(t);
	if (t->growth > 0)
		v->sum[MAPS_SUM_ADDED] += t->growth;
	else
		v->sum[MAPS_SUM_TAKEN] += -t->growth;
	if (t->flags & MAPS_MIXED)
		v->sum[MAPS_SUM_MIXED]++;
}

static __always_inline void call_send(
	const struct maps_thread *t, const struct maps_space *s, u64 pid_tgid, u64 start_ns)
{
	struct maps_event *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_MAPS_CALL, sizeof(*e));
	if (start_ns)
		e->h.time_ns = start_ns;
	e->tgid = t->key.tgid;
	e->tid = (u32)pid_tgid;
	e->ustack = t->key.ustack;
	e->kstack = 0;
	e->ns = t->ns;
	e->result = t->ret;
	for (int i = 0; i < 6; i++)
		e->args[i] = t->args[i];
	e->growth = t->growth;
	e->vm_pages = s ? s->last_pages : 0;
	e->object = t->what.object;
	e->limit = t->what.limit;
	e->cgroup = current_cgroup_id();
	e->mappings = s ? s->mappings : 0;
	e->call = t->call;
	e->kind = t->what.kind;
	e->flags = t->flags | (t->what.named ? MAPS_NAMED : 0);
	e->why = t->what.why;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	__builtin_memcpy(e->name, t->what.name, sizeof(e->name));
	ring_submit(e, sizeof(*e));
}

/* The call is told: what it was about, what it did. */
static __always_inline void maps_tell(
	struct syscall_call *call, struct maps_thread *t, struct maps_space *s)
{
	u32 tgid = call->pid_tgid >> 32;
	struct probe_counts *c;
	bool told;

	t->ns = call->start_ns ? call->now_ns - call->start_ns : 0;
	told = !scope.each || t->ns >= config.min_ns;
	t->length = length_of(t);
	what_take(t, s, tgid);
	space_leave(s, t);
	if (t->error)
		why_take(t);
	if (config.failures && !t->what.why)
		return;
	key_fill(t, call->pid_tgid);
	if (!told) {
		held_update(s, t, tgid);
		return;
	}
	c = counts();
	if (!c)
		return;
	c->seen++;
	if (config.failures || stack_due(c)) /* failures are few */
		t->key.ustack = stack_take(call->ctx, BPF_F_USER_STACK);
	held_update(s, t, tgid);
	if (scope.each)
		call_send(t, s, call->pid_tgid, call->start_ns);
	else
		call_count(t);
}

static __always_inline void maps_ended(struct syscall_call *call, struct maps_thread *t)
{
	struct maps_space *s = space_of(call->pid_tgid >> 32, false);

	if (call->refused) {
		args_take(call, t);
		t->doubt = takes_path(t->call);
		t->skip = call->abi != SYSCALL_NATIVE;
		t->alone = 0;
	}
	if (t->skip)
		return;
	result_take(t, call->ret);
	if (!t->doubt || path_is_shm(t->args[1]) > 0)
		maps_tell(call, t, s);
	if (s && t->running)
		__sync_fetch_and_add(&s->running, -1);
	t->running = 0;
}

SYSCALL_PROGRAMS(maps_began, maps_ended)
