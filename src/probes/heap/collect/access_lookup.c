/* See access_lookup.h. */
#include "probes/heap/collect/access_lookup.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "probes/heap/collect/ring_reader.h"
#include "probes/heap/residence/fault_events.h"

#define WAKE_MS 4
#define EARLY (1U << 17) /* faults that wait for their processes */
#define FORKS 64         /* of forks, that did not tell of themselves */
#define SWEEP_FROM 4096  /* forks and copies: fewer are kept */

/* What a process was a copy of, while it was. */
struct fork_of {
	u32 tgid;
	bool copied; /* blocks were told of before it told of itself */
	bool needed; /* see forks_sweep() */
	u64 from_ns, to_ns;
};

void access_lookup_begin(struct access_lookup *a)
{
	a->on = true;
	groups_init(&a->forks, sizeof(u32), sizeof(struct fork_of));
	groups_init(&a->copies, sizeof(struct block_lookup_copy), sizeof(u8));
	ticks_look(&a->clock);
}

void access_lookup_free(struct access_lookup *a)
{
	vec_free(&a->questions);
	vec_free(&a->told);
	vec_free(&a->early);
	groups_free(&a->forks);
	groups_free(&a->copies);
}

int access_lookup_ask(struct access_lookup *a, const struct question *q)
{
	return vec_push(&a->questions, *q);
}

int access_lookup_forked(struct access_lookup *a, u32 tgid, u32 from_tgid, u64 time_ns)
{
	const struct question q = {.tgid = from_tgid, .fork = true, .touch.time_ns = time_ns};
	struct fork_of *f;

	if (!a->on)
		return 0;
	f = from_tgid ? groups_get(&a->forks, &tgid) : groups_find(&a->forks, &tgid);
	if (f && from_tgid)
		*f = (struct fork_of){.tgid = from_tgid, .from_ns = time_ns, .to_ns = UINT64_MAX};
	else if (f)
		f->to_ns = time_ns;
	if (!from_tgid)
		return 0;
	return f ? access_lookup_ask(a, &q) : -ENOMEM;
}

static int access_lookup_by_time(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	return x->touch.time_ns < y->touch.time_ns ? -1 : x->touch.time_ns > y->touch.time_ns;
}

static bool process_had(const struct heap_process *p, u32 tgid, u64 time_ns)
{
	return p->pid == tgid && !p->foreign && !p->ended && p->touched &&
	       (!p->gone_ns || time_ns <= p->gone_ns) && (!p->exec_ns || time_ns < p->exec_ns);
}

/* What had this pid at that time; what another became by exec is further on. Before it was first
 * seen it may have been somebody else's. */
static struct heap_process *process_at(struct access_lookup *a,
	struct heap_process *const *processes, size_t n, u32 tgid, u64 time_ns)
{
	struct heap_process **recent = &a->recent[tgid % ANSWERS_RECENT];

	if (*recent && time_ns > (*recent)->start_ns && process_had(*recent, tgid, time_ns))
		return *recent;
	for (size_t i = 0; i < n; i++)
		if (process_had(processes[i], tgid, time_ns))
			return *recent = processes[i];
	return NULL;
}

/* Its account, as it was at that time. */
static int read_until(
	struct access_lookup *a, const struct heap_process *p, u64 time_ns, news_buffer *news)
{
	s64 words = ring_readers_read_until(p->readers.v, p->readers.n,
		ticks_at(&a->clock, time_ns), time_ns / NSEC_PER_MSEC, news);

	return words < 0 ? (int)words : 0;
}

/* The same for an access: the account may have gone on. */
static int read_for_access(
	struct access_lookup *a, const struct heap_process *p, u64 time_ns, news_buffer *news)
{
	a->guessed += p->ahead > ticks_at(&a->clock, time_ns);
	return read_until(a, p, time_ns, news);
}

static void stranger(struct access_lookup *a, const struct question *q)
{
	a->strangers += q->touch.fault != FAULT_IS_EXEC;
}

/* What waits of a process was of the program it was before. */
static void early_drop(struct access_lookup *a, u32 tgid)
{
	size_t kept = 0;

	vec_each (q, &a->early) {
		if (q->tgid != tgid)
			a->early.v[kept++] = *q;
		else
			stranger(a, q);
	}
	a->early.n = kept;
}

static bool pid_is_known(struct heap_process *const *processes, size_t n, u32 tgid)
{
	for (size_t i = 0; i < n; i++)
		if (processes[i]->pid == tgid)
			return true;
	return false;
}

/* Of processes that are new by now, of which nothing was read yet. */
static int early_take(struct access_lookup *a, struct heap_process *const *processes, size_t n)
{
	bool known = false;
	size_t kept = 0;
	u32 tgid = 0;
	int rc = 0;

	if (!n || processes[n - 1]->id <= a->newest)
		return 0;
	a->newest = processes[n - 1]->id;
	vec_each (q, &a->early) {
		if (q->tgid != tgid) { /* many are of one that tells nothing */
			tgid = q->tgid;
			known = pid_is_known(processes, n, tgid);
		}
		if (!rc && known && process_at(a, processes, n, tgid, q->touch.time_ns))
			rc = vec_push(&a->questions, *q);
		else
			a->early.v[kept++] = *q;
	}
	a->early.n = kept;
	return rc;
}

static int early_add(struct access_lookup *a, const struct question *q)
{
	if (a->early.n < EARLY)
		return vec_push(&a->early, *q);
	stranger(a, q);
	return 0;
}

/* What this pid was a copy of at that time; NULL: nothing that is known. */
static struct fork_of *fork_at(const struct access_lookup *a, u32 tgid, u64 time_ns)
{
	struct fork_of *f = groups_find(&a->forks, &tgid);

	return f && time_ns >= f->from_ns && time_ns <= f->to_ns ? f : NULL;
}

/* Its parent's account, or that of who this one is a fork of, as it was when the fork was made:
 * what has changed there since cannot be told. */
static int answer_copy(struct access_lookup *a, const struct question *q,
	struct heap_process *const *processes, size_t n, news_buffer *news)
{
	struct fork_of *first = fork_at(a, q->tgid, q->touch.time_ns), *f = first;
	struct heap_process *p = NULL;
	struct block_lookup_copy copy;
	u64 time_ns = 0;
	int rc;

	for (u32 i = 0; f && !p && i < FORKS; i++) {
		time_ns = f->from_ns;
		p = process_at(a, processes, n, f->tgid, time_ns);
		f = fork_at(a, f->tgid, time_ns);
	}
	if (!p)
		return 0;
	first->copied = true;
	copy = (struct block_lookup_copy){.fork_ns = first->from_ns, .tgid = q->tgid};
	rc = read_for_access(a, p, time_ns, news);
	return rc ? rc : block_lookup_ask_copy(p, time_ns, copy, &q->touch, &a->copies);
}

/* Marks what is still asked about, with all that it is a copy of. */
static void forks_mark(struct access_lookup *a)
{
	for (size_t i = 0; i < a->forks.n; i++) {
		struct fork_of *f = groups_value(&a->forks, i);

		for (u32 k = 0; f && k < FORKS && (k || f->to_ns >= a->held_ns); k++) {
			f->needed = true;
			f = fork_at(a, f->tgid, f->from_ns);
		}
	}
}

static bool fork_is_needed(void *arg, const void *key, const void *value)
{
	(void)arg, (void)key;
	return ((const struct fork_of *)value)->needed;
}

static bool copy_is_needed(void *arg, const void *key, const void *value)
{
	const struct block_lookup_copy *copy = key;
	u32 tgid = (u32)copy->tgid;
	const struct fork_of *f = groups_find(&((struct access_lookup *)arg)->forks, &tgid);

	(void)value;
	return f && f->copied && f->from_ns == copy->fork_ns;
}

/* Of those that are over for good nobody asks any more. */
static void forks_sweep(struct access_lookup *a)
{
	if (a->forks.n + a->copies.n < 2 * a->kept + SWEEP_FROM)
		return;
	forks_mark(a);
	groups_filter(&a->forks, fork_is_needed, NULL);
	for (size_t i = 0; i < a->forks.n; i++)
		((struct fork_of *)groups_value(&a->forks, i))->needed = false;
	groups_filter(&a->copies, copy_is_needed, a);
	a->kept = a->forks.n + a->copies.n;
}

static int copies_take(struct access_lookup *a, struct heap_process *p)
{
	struct fork_of *f = groups_find(&a->forks, &p->pid);

	if (!f || !f->copied)
		return 0;
	f->copied = false;
	return block_lookup_copies_take(p, f->from_ns, &a->copies);
}

static int answer(struct access_lookup *a, struct question *q,
	struct heap_process *const *processes, size_t n, news_buffer *news)
{
	struct heap_process *p = process_at(a, processes, n, q->tgid, q->touch.time_ns);
	int rc;

	q->touch.ticks = ticks_at(&a->clock, q->touch.time_ns);
	/* What it allocates from here on is not the fork's. */
	if (q->fork)
		return p ? read_until(a, p, q->touch.time_ns, news) : 0;
	if (q->touch.fault == FAULT_IS_EXEC) {
		early_drop(a, q->tgid);
		if (p && p->program_ns < q->touch.time_ns)
			p->exec_ns = q->touch.time_ns;
		return 0;
	}
	a->asked++;
	if (!p)
		return a->counts ? early_add(a, q) : answer_copy(a, q, processes, n, news);
	rc = copies_take(a, p);
	rc = rc ? rc : read_for_access(a, p, q->touch.time_ns, news);
	return rc ? rc : block_lookup_ask(p, p->original, q->tid, &q->touch);
}

void access_lookup_end(struct access_lookup *a)
{
	vec_each (q, &a->early)
		stranger(a, q);
	a->early.n = 0;
}

static void times_fill(struct access_lookup *a)
{
	vec_each (b, &a->told) {
		if (b->ticks)
			b->time_ns = ticks_ns(&a->clock, b->ticks);
		b->ticks = 0;
	}
}

int access_lookup_find(struct access_lookup *a, struct tracked_program *const *tracked, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && (a->questions.n || a->counts) && !rc; i++)
		rc = tracked_find(tracked[i]);
	return rc;
}

int access_lookup_settle(struct access_lookup *a, u64 time_ns,
	struct heap_process *const *processes, size_t n, news_buffer *news)
{
	size_t done = 0;
	int rc = early_take(a, processes, n);

	ticks_look(&a->clock);
	if (a->questions.n)
		qsort(a->questions.v, a->questions.n, sizeof(a->questions.v[0]),
			access_lookup_by_time);
	for (; !rc && done < a->questions.n && a->questions.v[done].touch.time_ns < time_ns; done++)
		rc = answer(a, &a->questions.v[done], processes, n, news);
	for (size_t i = done; i < a->questions.n; i++)
		a->questions.v[i - done] = a->questions.v[i];
	a->questions.n -= done;
	a->held_ns = time_ns;
	a->until = time_ns == UINT64_MAX ? UINT64_MAX - 2 : ticks_at(&a->clock, time_ns);
	times_fill(a);
	forks_sweep(a);
	return rc;
}

bool access_lookup_wake(struct access_lookup *a, struct tracked_program *const *tracked,
	size_t n_images, u64 now_ms)
{
	bool waiting = false, pressed = false;

	for (size_t i = 0; a->on && i < n_images; i++) {
		waiting |= tracked[i]->waiting;
		pressed |= tracked[i]->pressed;
	}
	if (a->counts || !waiting || (!pressed && now_ms - a->woken_ms < WAKE_MS))
		return false;
	a->woken_ms = now_ms;
	return true;
}

bool access_lookup_done(const struct access_lookup *a, const struct heap_process *p)
{
	return !a->on || a->held_ns > p->gone_ns;
}
