/* See event_replay.h. */
#include "probes/heap/events/event_replay.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/groups.h"
#include "probes/heap/events/event_code.h"
#include "probes/heap/heap.h"
#include "probes/heap/heap_records.h"
#include "probes/heap/events/replay_blocks.h"

_Static_assert(HEAP_EVENT_MS <= ACCOUNT_MS_MAX, "times of events");

#define BATCH 64
#define STEPS_MAX 240     /* of a course over time: enough for the width of a screen */
#define STEPS_MIN 16      /* fewer are no course */
#define POINTS_MAX 120000 /* beyond these, fewer steps */

struct moving {
	struct account_moved moved;
	bool is; /* may be undone */
};

/* Why the sums of a process go no further. */
enum replayed_end {
	END_NOT,
	END_PART,    /* the part ends before the events that follow */
	END_DAMAGED, /* what follows cannot be read, or is missing */
	END_FULL,    /* there was no more memory for it */
};

struct replayed {
	struct heap_process p; /* its account has no blocks but the old ones */
	struct replay_blocks blocks;
	struct event_decoder decoder;
	VEC(struct moving) moving; /* by thread */
	struct heap_total last;    /* as it was told of last */
	u64 events;                /* in the part */
	u64 told;                  /* of these, when it was last put */
	u64 bytes;                 /* of memory, when its last chunk was run */
	enum replayed_end end;
	struct event_steps steps;
	bool in_step; /* events of one that is not closed */
};

struct stack_key {
	u32 program, number;
};

struct thread_key {
	u32 process, thread;
};

struct event_replay {
	u64 from_ns, to_ns; /* since begin_ns */
	u64 begin_ns, from_ms, to_ms;
	u64 last_ns; /* of all totals */
	u64 bytes, most_bytes;
	event_replay_put put;
	void *arg;
	struct groups processes; /* number -> struct replayed * */
	struct groups stacks;    /* struct stack_key -> u32 */
	struct groups names;     /* struct thread_key -> struct thread_name */
	bool has;
	u64 step_ms; /* 0: no steps */
	u64 points;  /* of all processes */
	u32 steps;   /* so many, so far */
};

int event_replay_open(u64 from_ns, u64 to_ns, u64 most_bytes, event_replay_put put, void *arg,
	struct event_replay **ret)
{
	struct event_replay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct event_replay){from_ns, to_ns, .to_ms = UINT64_MAX, .most_bytes = most_bytes,
		.put = put, .arg = arg};
	groups_init(&r->processes, sizeof(u32), sizeof(struct replayed *));
	groups_init(&r->stacks, sizeof(struct stack_key), sizeof(u32));
	groups_init(&r->names, sizeof(struct thread_key), sizeof(struct thread_name));
	*ret = r;
	return 0;
}

static struct replayed *replayed_at(const struct event_replay *r, size_t i)
{
	return *(struct replayed **)groups_value(&r->processes, i);
}

void event_replay_close(struct event_replay *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->processes.n; i++) {
		struct replayed *p = replayed_at(r, i);

		if (!p)
			continue;
		account_free_all(&p->p.account);
		replay_blocks_free_all(&p->blocks);
		event_decoder_free(&p->decoder);
		vec_free(&p->moving);
		event_steps_free(&p->steps);
		free(p);
	}
	groups_free(&r->processes);
	groups_free(&r->stacks);
	groups_free(&r->names);
	free(r);
}

/* NULL: no memory. */
static struct replayed *replayed_get(struct event_replay *r, u32 process)
{
	struct replayed **at = groups_get(&r->processes, &process);

	if (!at || *at)
		return at ? *at : NULL;
	*at = calloc(1, sizeof(**at));
	if (!*at || event_decoder_init(&(*at)->decoder))
		return NULL;
	(*at)->p.id = process;
	return *at;
}

static int thread_take(struct replayed *p, u32 tid)
{
	struct moving none = {};
	u32 thread;
	int rc = account_thread(&p->p.account, tid, &thread);

	if (!rc && thread != p->moving.n)
		rc = -EBADMSG; /* more than an account has */
	return rc ? rc : vec_push(&p->moving, none);
}

/* Of a block from before the part nothing is known: its free is one of an unknown block. */
static int event_apply(struct replayed *p, const struct heap_event *e, u32 thread, u64 ms)
{
	struct moving *m = &p->moving.v[thread];
	struct account *a = &p->p.account;
	struct replay_blocks *b = &p->blocks;

	if (e->what <= HEAP_EVENT_MOVED) {
		m->is = false;
		return replay_blocks_alloc(b, a, thread, e->block, e->bytes, e->slack, e->stack,
			e->what == HEAP_EVENT_MOVED, ms);
	}
	if (e->what == HEAP_EVENT_FREE) {
		replay_blocks_free(b, a, thread, e->block, ms, NULL);
	} else if (e->what == HEAP_EVENT_MOVE) {
		replay_blocks_free(b, a, thread, e->block, ms, &m->moved);
		m->is = true;
	} else if (e->what == HEAP_EVENT_GONE) {
		replay_blocks_lose(b, a, e->block);
	} else if (e->what == HEAP_EVENT_RESTORE && m->is) {
		m->is = false;
		return replay_blocks_restore(b, a, thread, &m->moved);
	}
	return 0;
}

/* Of one thread at one time. */
static int batch_apply(struct replayed *p, const struct heap_event *batch, u32 n)
{
	p->events += n;
	for (u32 i = 0; i < n; i++) {
		int rc = event_apply(p, &batch[i], batch->thread, batch->ms);

		if (rc)
			return rc;
	}
	return 0;
}

static void steps_halve(struct event_replay *r)
{
	r->step_ms *= 2;
	r->steps = (r->steps + 1) / 2;
	r->points = 0;
	for (size_t i = 0; i < r->processes.n; i++) {
		u64 left = 0;

		if (replayed_at(r, i))
			event_steps_halve(&replayed_at(r, i)->steps, &left);
		r->points += left;
	}
}

static int step_end(struct event_replay *r, struct replayed *p)
{
	u64 more;
	int rc;

	if (!p->in_step)
		return 0;
	p->in_step = false;
	rc = event_steps_close(&p->steps, &p->p.account, &more);
	r->points += rc ? 0 : more;
	while (r->points > POINTS_MAX && r->steps > STEPS_MIN)
		steps_halve(r);
	return rc;
}

/* The events to come are of this time. */
static int step_reach(struct event_replay *r, struct replayed *p, u64 ms)
{
	u64 begin_ms = r->begin_ns / NSEC_PER_MSEC, since = ms > begin_ms ? ms - begin_ms : 0;
	int rc = 0;

	while (since / r->step_ms >= STEPS_MAX)
		steps_halve(r);
	if (since / r->step_ms > p->steps.step) {
		rc = step_end(r, p);
		p->steps.step = (u32)(since / r->step_ms);
	}
	r->steps = MAX(r->steps, p->steps.step + 1);
	p->in_step = true;
	return rc;
}

static int batch_take(
	struct event_replay *r, struct replayed *p, const struct heap_event *batch, u32 n)
{
	int rc = r->step_ms ? step_reach(r, p, batch->ms) : 0;

	return rc ? rc : batch_apply(p, batch, n);
}

static int chunk_run(struct event_replay *r, struct replayed *p)
{
	struct heap_event batch[BATCH];
	int rc = 1;

	while (rc == 1 && !p->end) {
		int failed = 0;
		u32 n;

		rc = event_decoder_run(&p->decoder, batch, BATCH, &n);
		if (!n)
			break;
		p->end = batch->ms >= r->to_ms ? END_PART : END_NOT;
		if (rc == 1 && batch->what == HEAP_EVENT_THREAD)
			failed = thread_take(p, batch->tid);
		else if (!p->end && batch->ms >= r->from_ms)
			failed = batch_take(r, p, batch, n);
		if (failed)
			return failed;
	}
	return p->end && rc == 1 ? 0 : rc;
}

/* Where there is too much, the sums of the process end. */
static void memory_look(struct event_replay *r, struct replayed *p)
{
	u64 had = p->bytes;

	p->bytes = account_bytes(&p->p.account) + replay_blocks_bytes(&p->blocks) +
		   event_model_bytes(&p->decoder.model);
	r->bytes += p->bytes - had;
	if (r->bytes <= r->most_bytes)
		return;
	p->end = END_FULL;
	account_settle_all(&p->p.account);
	account_forget_blocks(&p->p.account);
	replay_blocks_free_all(&p->blocks);
	event_decoder_free(&p->decoder);
	r->bytes -= p->bytes;
	p->bytes = account_bytes(&p->p.account);
	r->bytes += p->bytes;
}

static int chunk_take(struct event_replay *r, const struct heap_events *e)
{
	size_t room = e->h.size - offsetof(struct heap_events, code);
	struct replayed *p = replayed_get(r, e->process);
	int rc;

	if (!p)
		return -ENOMEM;
	r->has = true;
	p->p.program = e->program;
	if (p->end)
		return 0;
	rc = e->before != p->decoder.events_before || e->bytes > room ? -EBADMSG : 0;
	rc = rc ? rc : event_decoder_chunk(&p->decoder, (const u8 *)e->code, e->bytes);
	rc = rc ? rc : chunk_run(r, p);
	memory_look(r, p);
	if (rc != -EBADMSG)
		return rc;
	p->end = END_DAMAGED;
	return 0;
}

static int stacks_take(struct event_replay *r, const struct heap_stacks *s)
{
	u64 room = (s->h.size - offsetof(struct heap_stacks, v)) / (2 * sizeof(u32));

	for (u32 i = 0; i < s->n && i < room; i++) {
		struct stack_key k = {s->program, s->v[2 * i]};
		u32 *stack = groups_get(&r->stacks, &k);

		if (!stack)
			return -ENOMEM;
		*stack = s->v[2 * i + 1];
	}
	return 0;
}

static u64 abs_ns(const struct event_replay *r, u64 ns)
{
	return ns > UINT64_MAX - r->begin_ns ? UINT64_MAX : r->begin_ns + ns;
}

/* How the process stands at a time, and where it had come to by its end. */
static int total_put(struct event_replay *r, struct replayed *p, u64 time_ns)
{
	struct heap_total t;

	p->p.pid = p->last.tgid;
	p->p.parent = p->last.parent;
	p->p.before = p->last.before;
	p->p.cgroup = p->last.cgroup;
	p->p.dropped = p->last.lost;
	p->p.start_ns = p->last.start_ns;
	p->p.ended = p->last.end_ns && p->last.end_ns < abs_ns(r, r->to_ns);
	p->p.end_ns = p->p.ended ? p->last.end_ns : 0;
	memcpy(p->p.comm, p->last.comm, sizeof(p->p.comm));
	p->told = p->events;
	t = heap_total_of(&p->p);
	t.h.time_ns = time_ns;
	return r->put(r->arg, &t.h);
}

/* As the process stood when this was sent, all events before were too. */
static int total_take(struct event_replay *r, const struct heap_total *t)
{
	struct replayed *p = replayed_get(r, t->process);

	if (!p)
		return -ENOMEM;
	p->last = *t;
	r->last_ns = MAX(r->last_ns, t->h.time_ns);
	if (t->h.time_ns < abs_ns(r, r->from_ns) || t->h.time_ns >= abs_ns(r, r->to_ns) ||
		!p->events)
		return 0;
	return total_put(r, p, t->h.time_ns);
}

static int thread_name_take(struct event_replay *r, const struct heap_thread *t)
{
	struct thread_key k = {t->process, t->thread};
	struct thread_name *name = groups_get(&r->names, &k);

	if (!name)
		return -ENOMEM;
	memcpy(name->comm, t->comm, sizeof(name->comm));
	return 0;
}

int event_replay_feed(struct event_replay *r, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SESSION:
		r->begin_ns = rec->time_ns;
		r->from_ms = abs_ns(r, r->from_ns) / NSEC_PER_MSEC;
		r->to_ms = abs_ns(r, r->to_ns) / NSEC_PER_MSEC;
		return 0;
	case REC_HEAP_EVENTS:
		return chunk_take(r, (const struct heap_events *)rec);
	case REC_HEAP_STACKS:
		return stacks_take(r, (const struct heap_stacks *)rec);
	case REC_HEAP_TOTAL:
		return total_take(r, (const struct heap_total *)rec);
	case REC_HEAP_THREAD:
		return thread_name_take(r, (const struct heap_thread *)rec);
	}
	return 0;
}

static int sites_put(struct event_replay *r, struct replayed *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->p.account.sites.n && !rc; i++) {
		struct heap_site s = heap_site_of(&p->p, i);
		struct stack_key k = {p->p.program, s.site};
		const u32 *stack = groups_find(&r->stacks, &k);

		s.stack = stack ? *stack : 0;
		rc = r->put(r->arg, &s.h);
	}
	return rc;
}

static int threads_put(struct event_replay *r, struct replayed *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->p.account.threads.n && !rc; i++) {
		struct heap_thread t = heap_thread_of(&p->p, i);
		struct thread_key k = {p->p.id, t.thread};
		const struct thread_name *name = groups_find(&r->names, &k);

		if (name)
			memcpy(t.comm, name->comm, sizeof(t.comm));
		rc = r->put(r->arg, &t.h);
	}
	return rc;
}

int event_replay_report(struct event_replay *r)
{
	u64 end_ns = MIN(abs_ns(r, r->to_ns), r->last_ns);
	int rc = 0;

	for (size_t i = 0; i < r->processes.n && !rc; i++) {
		struct replayed *p = replayed_at(r, i);

		if (!p || !p->events)
			continue;
		if (p->events != p->told)
			rc = total_put(r, p, end_ns);
		rc = rc ? rc : sites_put(r, p);
		rc = rc ? rc : threads_put(r, p);
	}
	return rc;
}

void event_replay_in_steps(struct event_replay *r)
{
	r->step_ms = 1;
}

static int points_put(
	struct event_replay *r, struct replayed *p, event_replay_points take, void *arg)
{
	int rc = take(arg, &p->last, NULL, &p->steps.whole);

	for (size_t i = 0; i < p->steps.sites.n && !rc; i++) {
		struct stack_key k = {p->p.program, p->p.account.sites.v[i].stack};
		const u32 *stack = groups_find(&r->stacks, &k);

		rc = take(arg, &p->last, stack ? stack : &(u32){0}, &p->steps.sites.v[i]);
	}
	return rc;
}

int event_replay_steps(
	struct event_replay *r, u64 *ret_step_ms, event_replay_points take, void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < r->processes.n && !rc; i++)
		rc = replayed_at(r, i) ? step_end(r, replayed_at(r, i)) : 0;
	*ret_step_ms = r->step_ms;
	for (size_t i = 0; i < r->processes.n && !rc; i++)
		if (replayed_at(r, i) && replayed_at(r, i)->events)
			rc = points_put(r, replayed_at(r, i), take, arg);
	return rc;
}

bool event_replay_has(const struct event_replay *r)
{
	return r->has;
}

static u32 ends(const struct event_replay *r, enum replayed_end end)
{
	u32 n = 0;

	for (size_t i = 0; i < r->processes.n; i++)
		n += replayed_at(r, i) && replayed_at(r, i)->end == end;
	return n;
}

u32 event_replay_damaged(const struct event_replay *r)
{
	return ends(r, END_DAMAGED);
}

u32 event_replay_full(const struct event_replay *r)
{
	return ends(r, END_FULL);
}
