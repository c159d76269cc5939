/*
 * Events of a process through the writer, as records, into the replay: its sums are those of the
 * account that was told the same, for the whole run and for parts of it; and a recording with
 * chunks missing or damaged says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/heap/events/event_replay.h"
#include "probes/heap/events/event_writer.h"
#include "probes/heap/heap.h"
#include "probes/heap/heap_records.h"

#define BEGIN_MS 1000
#define THREADS 4
#define ADDRESSES 3000

static u64 x = 88172645463325252ULL;

static u64 any(u64 below)
{
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return (x >> 11) % below;
}

/* What a ring reader does (ring_reader.c), at one time. */
struct act {
	u8 what; /* enum heap_event_what */
	u32 thread, stack;
	u64 address, bytes, slack, ms;
};

typedef VEC(struct act) acts;

static void acts_make(acts *to, u32 n)
{
	bool moving[THREADS] = {};
	u64 ms = BEGIN_MS;

	for (u32 i = 0; i < n; i++) {
		static const u8 whats[] = {HEAP_EVENT_ALLOC, HEAP_EVENT_ALLOC, HEAP_EVENT_FREE,
			HEAP_EVENT_FREE, HEAP_EVENT_MOVE};
		struct act a = {.what = whats[any(5)], .thread = (u32)any(THREADS)};

		ms += any(20) ? 0 : any(4);
		a.ms = ms;
		a.address = 0x550000000000 + 32 * any(ADDRESSES); /* some are given out twice */
		a.bytes = any(50) ? any(900) : 1ULL << (30 + any(5));
		a.slack = any(20) ? any(4) : any(2000);
		a.stack = (u32)any(40);
		if (moving[a.thread])
			a.what = any(4) ? HEAP_EVENT_MOVED : HEAP_EVENT_RESTORE;
		moving[a.thread] = a.what == HEAP_EVENT_MOVE;
		assert_int_equal(vec_push(to, a), 0);
	}
}

struct told {
	struct heap_process p;
	struct account_moved moved[THREADS];
	struct event_writer *w;
};

static void told_open(struct told *t, bool write)
{
	u32 thread;

	*t = (struct told){.p = {.id = 7, .pid = 70, .program = 3, .comm = "worker"}};
	t->p.start_ns = BEGIN_MS * 1000000ULL;
	if (write)
		assert_int_equal(event_writer_open(7, 3, &t->w), 0);
	for (u32 i = 0; i < THREADS; i++) {
		assert_int_equal(account_thread(&t->p.account, 100 + i, &thread), 0);
		if (write)
			assert_int_equal(event_writer_thread(t->w, 100 + i), 0);
	}
}

static void told_close(struct told *t)
{
	account_free_all(&t->p.account);
	event_writer_close(t->w);
}

static void act_tell(struct told *t, const struct act *a)
{
	struct account_moved *m = &t->moved[a->thread];
	bool moved = a->what == HEAP_EVENT_MOVED, move = a->what == HEAP_EVENT_MOVE;
	int rc = 0;

	switch ((enum heap_event_what)a->what) {
	case HEAP_EVENT_ALLOC:
	case HEAP_EVENT_MOVED:
		rc = account_alloc(&t->p.account, a->thread, a->address, a->bytes, a->slack,
			a->stack, moved, a->ms);
		if (t->w)
			rc |= event_writer_alloc(t->w, a->thread, a->address, a->bytes, a->slack,
				a->stack, moved, a->ms);
		break;
	case HEAP_EVENT_RESTORE:
		rc = account_restore(&t->p.account, a->thread, m);
		if (t->w)
			rc |= event_writer_restore(t->w, a->thread, a->ms);
		break;
	default:
		account_free(&t->p.account, a->thread, a->address, a->ms, move ? m : NULL);
		if (t->w)
			rc = event_writer_free(t->w, a->thread, a->address, move, a->ms);
	}
	assert_int_equal(rc, 0);
}

/* The records of a recording, in their order. */
typedef VEC(struct rec *) recording;

static void rec_add(recording *to, const void *rec, size_t size)
{
	struct rec *r = calloc(1, (size + 7) & ~7UL);

	assert_non_null(r);
	memcpy(r, rec, size);
	r->size = (u32)((size + 7) & ~7UL);
	assert_int_equal(vec_push(to, r), 0);
}

static void recording_free(recording *of)
{
	vec_each (r, of)
		free(*r);
	vec_free(of);
}

static void chunks_add(recording *to, struct event_writer *w)
{
	news_buffer news = {};

	assert_int_equal(event_writer_flush(w, true, &news), 0);
	for (size_t at = 0; at < news.n;) {
		const struct news *n = (const struct news *)&news.v[at];
		struct heap_events *e = calloc(1, sizeof(*e) + (size_t)n->words * sizeof(u64));

		assert_non_null(e);
		assert_int_equal(n->kind, NEWS_EVENTS);
		*e = (struct heap_events){.h = {.kind = REC_HEAP_EVENTS},
			.process = n->process,
			.program = n->program,
			.before = n->v[0],
			.bytes = (u32)n->v[1]};
		memcpy(e->code, &n->v[2], e->bytes);
		rec_add(to, e, offsetof(struct heap_events, code) + e->bytes);
		free(e);
		at += sizeof(*n) / sizeof(u64) + n->words;
	}
	vec_free(&news);
}

static void total_add(recording *to, struct told *t, u64 ms)
{
	struct heap_total total = heap_total_of(&t->p);

	total.h.time_ns = ms * 1000000;
	rec_add(to, &total, sizeof(total));
}

/* The acts as a recording with chunks of any size. */
static void record(const acts *all, recording *to)
{
	struct rec session = {.kind = REC_SESSION, .time_ns = BEGIN_MS * 1000000ULL};
	struct told t;

	rec_add(to, &session, sizeof(session));
	told_open(&t, true);
	vec_each (a, all) {
		act_tell(&t, a);
		if (!any(2000))
			chunks_add(to, t.w);
	}
	chunks_add(to, t.w);
	total_add(to, &t, all->v[all->n - 1].ms);
	told_close(&t);
}

/* What the replay put last: a total, and sums over the sites. */
struct put {
	struct heap_total total;
	struct heap_site sites[64];
	u32 totals, n_sites;
	u64 by_threads;
};

static int put_take(void *arg, const struct rec *r)
{
	struct put *p = arg;

	if (r->kind == REC_HEAP_TOTAL) {
		p->total = *(const struct heap_total *)r;
		p->totals++;
	} else if (r->kind == REC_HEAP_SITE) {
		assert_true(p->n_sites < 64);
		p->sites[p->n_sites++] = *(const struct heap_site *)r;
	} else if (r->kind == REC_HEAP_THREAD) {
		p->by_threads += ((const struct heap_thread *)r)->allocations;
	}
	return 0;
}

/* Of a part, in ms since the session began. Returns how many processes are damaged. */
static u32 replay(const recording *of, u64 from, u64 to, struct put *ret)
{
	struct event_replay *r;
	u32 damaged;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(event_replay_open(from * 1000000, to == UINT64_MAX ? to : to * 1000000,
				 UINT64_MAX, put_take, ret, &r),
		0);
	vec_each (rec, of)
		assert_int_equal(event_replay_feed(r, *rec), 0);
	assert_int_equal(event_replay_report(r), 0);
	assert_true(event_replay_has(r));
	assert_int_equal(event_replay_full(r), 0);
	damaged = event_replay_damaged(r);
	event_replay_close(r);
	return damaged;
}

/* As the account was told only of the acts of this time. */
static void same_as_account(const acts *all, u64 from, u64 to, const struct put *got)
{
	struct heap_total total;
	struct told t;

	told_open(&t, false);
	vec_each (a, all)
		if (a->ms >= BEGIN_MS + from && (to == UINT64_MAX || a->ms < BEGIN_MS + to))
			act_tell(&t, a);
	total = heap_total_of(&t.p);
	total.h.time_ns = got->total.h.time_ns;
	assert_memory_equal(&total, &got->total, sizeof(total));
	assert_int_equal(got->by_threads, total.allocations);
	assert_int_equal(got->n_sites, t.p.account.sites.n);
	for (u32 i = 0; i < got->n_sites; i++) {
		struct heap_site s = heap_site_of(&t.p, i);

		assert_memory_equal(&s, &got->sites[i], sizeof(s));
	}
	told_close(&t);
}

static void a_run_is_as_it_was(void **state)
{
	recording rec = {};
	acts all = {};
	struct put got;

	(void)state;
	acts_make(&all, 200000);
	record(&all, &rec);
	assert_int_equal(replay(&rec, 0, UINT64_MAX, &got), 0);
	same_as_account(&all, 0, UINT64_MAX, &got);
	assert_true(got.total.overwritten && got.total.unknown_frees && got.total.moved);
	/* a part from the beginning knows each block */
	assert_int_equal(replay(&rec, 0, 5000, &got), 0);
	same_as_account(&all, 0, 5000, &got);
	recording_free(&rec);
	vec_free(&all);
}

/* Blocks from before are not known: their frees are counted apart. No address is given out twice,
 * as then which block is freed would differ. */
static void a_part_knows_its_own_blocks(void **state)
{
	recording rec = {};
	acts all = {};
	struct put got;

	(void)state;
	for (u64 i = 0; i < 3000; i++) {
		struct act a = {.ms = BEGIN_MS + i, .address = 0x1000 + 64 * i, .bytes = 10};

		assert_int_equal(vec_push(&all, a), 0);
		a.what = HEAP_EVENT_FREE;
		a.address -= 64 * 500; /* each lives for 500 ms */
		if (i >= 500)
			assert_int_equal(vec_push(&all, a), 0);
	}
	record(&all, &rec);
	assert_int_equal(replay(&rec, 1000, 2000, &got), 0);
	same_as_account(&all, 1000, 2000, &got);
	assert_int_equal(got.total.allocations, 1000);
	assert_int_equal(got.total.unknown_frees, 500);
	assert_int_equal(got.total.frees, 500);
	assert_int_equal(got.total.live_bytes, 5000);
	assert_int_equal(got.total.peak_bytes, 5010);
	recording_free(&rec);
	vec_free(&all);
}

static void what_is_missing_is_told(void **state)
{
	recording rec = {};
	acts all = {};
	struct put got;
	struct rec *gone;

	(void)state;
	acts_make(&all, 50000);
	record(&all, &rec);
	assert_true(rec.n > 6);
	gone = rec.v[3];
	memmove(&rec.v[3], &rec.v[4], (rec.n - 4) * sizeof(rec.v[0]));
	rec.n--;
	assert_int_equal(replay(&rec, 0, UINT64_MAX, &got), 1);
	assert_int_equal(got.total.allocations + got.total.frees + got.total.unknown_frees > 0, 1);
	free(gone);
	recording_free(&rec);
	vec_free(&all);
}

/* A million blocks in a few bytes, again and again: the sums end where memory does. */
static void what_is_live_is_bounded(void **state)
{
	const u64 most = 64 << 20;
	recording rec = {};
	struct event_replay *r;
	struct put got = {};
	struct told t;

	(void)state;
	told_open(&t, true);
	for (u64 i = 1; i <= 4 << 20; i++)
		assert_int_equal(event_writer_alloc(t.w, 0, i << 4, 10, 0, 1, false, BEGIN_MS), 0);
	chunks_add(&rec, t.w);
	total_add(&rec, &t, BEGIN_MS);
	assert_true(rec.n >= 4);
	assert_int_equal(event_replay_open(0, UINT64_MAX, most, put_take, &got, &r), 0);
	vec_each (one, &rec) {
		assert_true((*one)->kind != REC_HEAP_EVENTS || (*one)->size < 1000);
		assert_int_equal(event_replay_feed(r, *one), 0);
	}
	assert_int_equal(event_replay_report(r), 0);
	assert_int_equal(event_replay_full(r), 1);
	assert_int_equal(event_replay_damaged(r), 0);
	assert_in_range(got.total.allocations, 1 << 20, most / 16);
	assert_int_equal(got.total.live_blocks, got.total.allocations);
	assert_int_equal(got.total.live_bytes, 10 * got.total.allocations);
	assert_int_equal(got.sites[0].live_blocks, got.total.live_blocks);
	event_replay_close(r);
	told_close(&t);
	recording_free(&rec);
}

/* Any byte may be anything, and a length more than there is. */
static void damage_is_survived(void **state)
{
	recording rec = {};
	acts all = {};
	struct put got;
	u32 told = 0;

	(void)state;
	acts_make(&all, 3000);
	record(&all, &rec);
	for (u32 round = 0; round < 2000; round++) {
		struct rec *r = rec.v[1 + any(rec.n - 2)], *was;
		size_t at = sizeof(*r) + any(r->size - sizeof(*r));

		was = malloc(r->size);
		assert_non_null(was);
		memcpy(was, r, r->size);
		((u8 *)r)[at] ^= (u8)(1 + any(255));
		told += replay(&rec, 0, any(2) ? UINT64_MAX : 50, &got);
		memcpy(r, was, was->size);
		free(was);
	}
	assert_true(told > 100);
	recording_free(&rec);
	vec_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_is_as_it_was),
		cmocka_unit_test(a_part_knows_its_own_blocks),
		cmocka_unit_test(what_is_missing_is_told),
		cmocka_unit_test(what_is_live_is_bounded),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
