/* See stalls_settle.h. */
#include "probes/stalls/stalls_settle.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/names/names.h"

static struct stalls_config config;

void stalls_settle_with(const struct stalls_config *c)
{
	config = *c;
}

struct settle {
	struct capture *c;
	const struct stack_maps *stacks;
	int states, tokens, story;
	u64 now;
	u64 *events;
};

int stalls_send(struct capture *c, const struct stack_maps *stacks, struct stalls_event *e)
{
	const struct mapping *m =
		e->address ? mapping_find(&c->mappings, e->tgid, e->address) : NULL;

	names_event(c->names, stacks, e);
	if (m)
		e->mapping =
			names_string(c->names, m->path[0] ? m->path : mapping_kind_name(m->kind));
	return capture_emit(c, &e->h);
}

static int send_each(struct settle *s, const struct stalls_state *st)
{
	struct stalls_event e = REC_INIT(struct stalls_event, REC_STALLS_EVENT, s->now);
	const struct stalls_step *last = &st->step;
	u32 i = st->steps;

	if (bpf_map_lookup_elem(s->story, &st->tid, &e.steps))
		return 0;
	e.tgid = st->key.tgid;
	e.tid = st->tid;
	e.ustack = st->key.ustack;
	e.kstack = st->key.kstack;
	e.start_ns = st->start_ns;
	e.ns = st->end_ns - st->start_ns;
	e.reclaim_ns = st->reclaim_ns;
	e.compact_ns = st->compact_ns;
	e.throttled_ns = st->throttled_ns;
	e.scanned = st->scanned;
	e.reclaimed = st->reclaimed;
	e.migrated = st->migrated;
	e.cgroup = st->cgroup;
	e.address = st->address;
	e.gfp = st->key.gfp;
	e.syscall = st->key.syscall;
	e.node = st->key.node;
	e.retries = st->retries;
	e.kind = st->key.kind;
	e.order = st->key.order;
	e.trigger = st->key.trigger;
	e.outcome = st->key.outcome;
	memcpy(e.comm, st->comm, sizeof(e.comm));
	if (last->kind) { /* the compaction that we ended */
		if (i >= STALLS_ROOM) {
			i = STALLS_ROOM - 1;
			e.steps.zones[i] =
				(u8)(e.steps.zones[i] + (e.steps.kind[i] != STALLS_MORE));
			e.steps.zones[i] = (u8)MIN(e.steps.zones[i] + 1, 255);
			e.steps.kind[i] = STALLS_MORE;
			e.steps.ns[i] += last->end_ns - last->start_ns;
		} else {
			e.steps.start_ns[i] = last->start_ns - st->start_ns;
			e.steps.ns[i] = last->end_ns - last->start_ns;
			e.steps.kind[i] = last->kind;
			e.steps.zones[i] = last->zones;
			e.steps.mode[i] = last->mode;
			e.steps.result[i] = last->result;
			e.steps.zone[i] = last->zone;
		}
		e.steps.wait_ns[i] += last->wait_ns;
		e.steps.scanned[i] += last->scanned;
		e.steps.done[i] += last->done;
		e.steps.failed[i] += last->failed;
	}
	e.n_steps = st->steps + (last->kind != 0);
	*s->events += 1;
	return stalls_send(s->c, s->stacks, &e);
}

static int send_agg(struct settle *s, const struct stalls_state *st)
{
	struct stalls_agg r = REC_INIT(struct stalls_agg, REC_STALLS_AGG, 0);

	names_added(s->c->names, s->stacks, &st->key, st, &r);
	r.gfp = st->key.gfp;
	r.syscall = st->key.syscall;
	r.node = st->key.node;
	r.kind = st->key.kind;
	r.order = st->key.order;
	r.trigger = st->key.trigger;
	r.outcome = st->key.outcome;
	r.count = 1;
	r.total_ns = r.max_ns = st->end_ns - st->start_ns;
	r.reclaim_ns = st->reclaim_ns;
	r.compact_ns = st->compact_ns;
	r.throttled_ns = st->throttled_ns;
	r.scanned = st->scanned;
	r.reclaimed = st->reclaimed;
	r.migrated = st->migrated;
	r.retries = st->retries;
	r.hist[log2_slot(r.total_ns, AGG_SLOTS - 1)] = 1;
	*s->events += 1;
	return capture_emit(s->c, &r.h);
}

/* The compaction that we ended; a reclaim was counted when it ended. */
static int send_step(struct settle *s, const struct stalls_state *st)
{
	struct stalls_step_agg r = REC_INIT(struct stalls_step_agg, REC_STALLS_STEP, 0);

	r.kind = st->step.kind;
	r.mode = st->step.mode;
	r.result = st->step.result;
	r.order = st->key.order;
	r.count = 1;
	r.total_ns = r.max_ns = st->step.end_ns - st->step.start_ns;
	r.scanned = st->step.scanned;
	r.done = st->step.done;
	r.failed = st->step.failed;
	r.wait_ns = st->step.wait_ns;
	r.hist[log2_slot(r.total_ns, AGG_SLOTS - 1)] = 1;
	return capture_emit(s->c, &r.h);
}

/* Can the thread still add to its stall? */
static bool state_goes_on(const struct settle *s, const struct stalls_state *st)
{
	u64 last = st->step.kind ? st->step.end_ns : MAX(st->end_ns, st->retry_ns);

	if (!st->step.kind && !st->last) /* it is just being opened */
		return true;
	if (st->step.kind && (st->step.kind != STALLS_COMPACT || st->zone_open))
		return true;
	return !s->c->ending &&
	       s->now < last + (s->c->opt.each ? STALLS_IDLE_EACH_NS : STALLS_IDLE_NS);
}

static int state_send(struct settle *s, struct stalls_state *st)
{
	struct {
		u32 tid, token;
	} token = {st->tid, st->token};
	int rc = 0;

	if (bpf_map_delete_elem(s->tokens, &token))
		return 0; /* the programs have counted it */
	if (st->step.kind)
		stalls_step_end(st);
	if (!st->last)
		return 0;
	st->key.outcome = stalls_outcome(st, config.gfp_noretry, config.gfp_final);
	if (s->c->opt.each)
		return st->end_ns - st->start_ns < config.min_ns ? 0 : send_each(s, st);
	if (st->step.kind)
		rc = send_step(s, st);
	return rc ? rc : send_agg(s, st);
}

static bool thread_is_gone(const struct stalls_state *st)
{
	return syscall(SYS_tgkill, st->key.tgid, st->tid, 0) && errno == ESRCH;
}

static int state_settle(struct settle *s, u32 tid)
{
	struct stalls_state st;
	int rc = 0;

	if (bpf_map_lookup_elem(s->states, &tid, &st))
		return 0;
	if (st.start_ns && !state_goes_on(s, &st))
		rc = state_send(s, &st);
	else if (st.start_ns)
		return 0;
	if (!rc && thread_is_gone(&st)) {
		bpf_map_delete_elem(s->states, &tid);
		bpf_map_delete_elem(s->story, &tid);
	}
	return rc;
}

int stalls_settle(
	struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events)
{
	struct settle s = {
		.c = c,
		.stacks = stacks,
		.states = attach_map(a, "states"),
		.tokens = attach_map(a, "tokens"),
		.story = attach_map(a, "story"),
		.now = clock_mono_ns(),
		.events = events,
	};
	u32 tid = 0, next = 0;
	bool more = !bpf_map_get_next_key(s.states, NULL, &next);
	int rc = 0;

	while (more && !rc) {
		tid = next;
		more = !bpf_map_get_next_key(s.states, &tid, &next);
		rc = state_settle(&s, tid);
	}
	return rc;
}
