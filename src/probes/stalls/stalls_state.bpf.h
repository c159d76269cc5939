/*
 * The stall of a thread, put together from events. No event marks the beginning or the end of
 * __alloc_pages_slowpath(), so what belongs together follows from the order in which it does things
 * (mm/page_alloc.c of 5.10, 6.1, 6.12, 6.18, 7.3):
 *
 *   wake kswapd; costly or unmovable orders: compact (asynchronously);
 *   retry: reclaim; compact; no more if __GFP_NORETRY, or costly without __GFP_RETRY_MAYFAIL;
 *   should_reclaim_retry(), which fires oom:reclaim_retry_zone; if that says no:
 *   should_compact_retry(), which fires oom:compact_retry; if that says no: the OOM killer.
 *
 * So compaction, then reclaim, then compaction are one allocation. A second reclaim is only if a
 * retry was announced since the first; without, the first has done, and this is another. One that
 * was announced may still be another: the first look at the free lists after the decision may have
 * been lucky. Then the thread has mostly faulted or slept in between, which its counters tell.
 *
 * try_charge() of a control group repeats reclaim that got nothing, and does not announce it.
 * get_page_from_freelist() goes on to the next node after node reclaim that did not get enough.
 */
#ifndef MEMWHY_PROBES_STALLS_STATE_BPF_H
#define MEMWHY_PROBES_STALLS_STATE_BPF_H

#include "bpf/vmscan.bpf.h"
#include "probes/stalls/stalls.h"

const volatile struct stalls_config config = {};

AGG_TABLE(stalls, struct stalls_key);
AGG_TABLE(steps, struct stalls_step_key);

#define STATES 8192

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STATES);
	__type(key, u32);
	__type(value, struct stalls_state);
} states SEC(".maps");

/*
 * A stall is over when the thread's next event does not belong to it, or when none comes for a
 * while, which user space looks after. Who of the two may count it is who deletes its token.
 */
struct token {
	u32 tid;
	u32 token;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STATES);
	__type(key, struct token);
	__type(value, u8);
} tokens SEC(".maps");

/* --each: the steps of each stall. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stalls_steps);
} story SEC(".maps");

static const struct stalls_state state_zero = {};
static const struct stalls_steps story_zero = {};

struct task_struct___stalls {
	unsigned int flags;
	void *stack;
	unsigned long nvcsw, min_flt, maj_flt;
} __attribute__((preserve_access_index));

static __always_inline u64 task_faults(void)
{
	struct task_struct___stalls *t = (void *)bpf_get_current_task();

	return bpf_core_field_exists(t->min_flt)
		       ? BPF_CORE_READ(t, min_flt) + BPF_CORE_READ(t, maj_flt)
		       : 0;
}

static __always_inline u64 task_switches(void)
{
	struct task_struct___stalls *t = (void *)bpf_get_current_task();

	return bpf_core_field_exists(t->nvcsw) ? BPF_CORE_READ(t, nvcsw) : 0;
}

static __always_inline struct stalls_state *state_current(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&states, &tid);
}

/* That of the current thread, made when there is none; NULL when there is no room. */
static __always_inline struct stalls_state *state_get(u64 pid_tgid)
{
	u32 tid = (u32)pid_tgid;
	struct stalls_state *s = bpf_map_lookup_elem(&states, &tid);

	if (s)
		return s;
	if (bpf_map_update_elem(&states, &tid, &state_zero, BPF_NOEXIST))
		return 0;
	s = bpf_map_lookup_elem(&states, &tid);
	if (s) {
		s->tid = tid;
		s->key.tgid = pid_tgid >> 32;
	}
	return s;
}

static __always_inline struct token token_of(const struct stalls_state *s)
{
	return (struct token){s->tid, s->token};
}

/* Forgets a stall that user space has counted meanwhile. */
static __always_inline void state_refresh(struct stalls_state *s)
{
	struct token token = token_of(s);

	if (!s->start_ns || bpf_map_lookup_elem(&tokens, &token))
		return;
	s->start_ns = 0;
	s->step.kind = 0;
}

/* A step that is over: to the story of its stall, or counted. */
static __noinline int step_tell(struct stalls_state *s, const struct stalls_step *step)
{
	struct stalls_step_key key = {
		.kind = step->kind,
		.mode = step->mode,
		.result = step->result,
		.order = s->key.order,
	};
	u64 ns = step->end_ns - step->start_ns;
	u32 i = s->steps, tid = s->tid;
	struct stalls_steps *all;
	struct agg_value *v;

	s->steps = i + 1;
	if (scope.each) {
		all = bpf_map_lookup_elem(&story, &tid);
		if (!all)
			return 0;
		if (i >= STALLS_ROOM) {
			i = STALLS_ROOM - 1;
			if (all->kind[i] != STALLS_MORE) {
				all->zones[i] = 1; /* the one that becomes a sum */
				all->kind[i] = STALLS_MORE;
				all->mode[i] = all->result[i] = 0;
				all->zone[i] = 0;
			}
			all->zones[i] += all->zones[i] < 255;
			all->ns[i] += ns;
			all->wait_ns[i] += step->wait_ns;
			all->scanned[i] += step->scanned;
			all->done[i] += step->done;
			all->failed[i] += step->failed;
			return 0;
		}
		i &= STALLS_ROOM - 1;
		all->start_ns[i] = step->start_ns - s->start_ns;
		all->ns[i] = ns;
		all->wait_ns[i] = step->wait_ns;
		all->zone[i] = step->zone;
		all->scanned[i] = step->scanned;
		all->done[i] = step->done;
		all->failed[i] = step->failed;
		all->kind[i] = step->kind;
		all->mode[i] = step->mode;
		all->result[i] = step->result;
		all->zones[i] = step->zones;
		return 0;
	}
	v = agg_get(&steps, &key, 0);
	if (!v)
		return 0;
	v->count++;
	v->sum[STALLS_STEP_SCANNED] += step->scanned;
	v->sum[STALLS_STEP_DONE] += step->done;
	v->sum[STALLS_STEP_FAILED] += step->failed;
	v->sum[STALLS_STEP_WAIT_NS] += step->wait_ns;
	agg_time(v, ns);
	return 0;
}

/* The running step is over. */
static __always_inline void step_over(struct stalls_state *s)
{
	stalls_step_end(s);
	step_tell(s, &s->step);
	s->step.kind = 0;
	s->faults = task_faults();
	s->switches = task_switches();
}

/* A step that took from `start` to now, and is no reclaim and no compaction. */
static __always_inline void step_note(struct stalls_state *s, u8 kind, u64 start, u8 result)
{
	struct stalls_step step = {
		.kind = kind,
		.result = result,
		.start_ns = start,
		.end_ns = bpf_ktime_get_ns(),
	};

	s->end_ns = step.end_ns;
	step_tell(s, &step);
}

static __always_inline void stall_each(const struct stalls_state *s, u64 ns)
{
	u32 tid = s->tid;
	struct stalls_steps *all = bpf_map_lookup_elem(&story, &tid);
	struct stalls_event *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_STALLS_EVENT, sizeof(*e));
	e->tgid = s->key.tgid;
	e->tid = tid;
	e->ustack = s->key.ustack;
	e->kstack = s->key.kstack;
	e->start_ns = s->start_ns;
	e->ns = ns;
	e->reclaim_ns = s->reclaim_ns;
	e->compact_ns = s->compact_ns;
	e->throttled_ns = s->throttled_ns;
	e->scanned = s->scanned;
	e->reclaimed = s->reclaimed;
	e->migrated = s->migrated;
	e->cgroup = s->cgroup;
	e->address = s->address;
	e->gfp = s->key.gfp;
	e->syscall = s->key.syscall;
	e->node = s->key.node;
	e->retries = s->retries;
	e->n_steps = s->steps;
	e->mapping = 0;
	e->kind = s->key.kind;
	e->order = s->key.order;
	e->trigger = s->key.trigger;
	e->outcome = s->key.outcome;
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	__builtin_memcpy(e->comm, s->comm, sizeof(e->comm));
	if (all)
		bpf_probe_read_kernel(&e->steps, sizeof(e->steps), all);
	else
		e->n_steps = 0;
	ring_submit(e, sizeof(*e));
}

static __always_inline void stall_count(const struct stalls_state *s, u64 ns)
{
	struct stalls_key key = s->key;
	struct agg_value *v = agg_get(&stalls, &key, 1);

	if (!v)
		return;
	v->count++;
	v->sum[STALLS_RECLAIM_NS] += s->reclaim_ns;
	v->sum[STALLS_COMPACT_NS] += s->compact_ns;
	v->sum[STALLS_THROTTLED_NS] += s->throttled_ns;
	v->sum[STALLS_SCANNED] += s->scanned;
	v->sum[STALLS_RECLAIMED] += s->reclaimed;
	v->sum[STALLS_MIGRATED] += s->migrated;
	v->sum[STALLS_RETRIES] += s->retries;
	agg_time(v, ns);
}

/* The thread's stall is over. */
static __noinline int stall_close(struct stalls_state *s)
{
	struct token token = token_of(s);
	u64 ns = s->end_ns - s->start_ns;

	if (bpf_map_delete_elem(&tokens, &token) || !s->last)
		return 0; /* user space has counted it; or nothing in it ever ended */
	s->key.outcome = stalls_outcome(s, config.gfp_noretry, config.gfp_final);
	if (ns < config.min_ns)
		return 0;
	count_add(seen);
	if (scope.each)
		stall_each(s, ns);
	else
		stall_count(s, ns);
	return 0;
}

#endif
