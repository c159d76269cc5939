/* Events as bytes and back: what goes in comes out, damage is survived, what repeats is small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/heap/events/event_code.h"

static u64 x = 88172645463325252ULL;

static u64 any(u64 below)
{
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return (x >> 11) % below;
}

typedef VEC(struct heap_event) events;

#define THREADS 3

/* Blocks are freed at any time, by any thread; sizes and stacks may be the largest there are. */
static void events_make(events *to, u32 n, u64 stacks)
{
	VEC(u64) live = {};
	u64 blocks = 0, ms = 1000;
	u32 thread = 0;

	for (u32 i = 0; i < n; i++) {
		struct heap_event e = {};

		thread = any(20) ? thread : (u32)any(THREADS);
		ms += any(50) ? 0 : any(30);
		if (live.n && any(2)) {
			static const u8 whats[] = {
				HEAP_EVENT_FREE, HEAP_EVENT_FREE, HEAP_EVENT_MOVE, HEAP_EVENT_GONE};
			size_t at = any(live.n);

			e.what = whats[any(4)];
			e.block = live.v[at];
			live.v[at] = live.v[--live.n];
		} else if (!any(10)) {
			static const u8 whats[] = {
				HEAP_EVENT_FREE, HEAP_EVENT_MOVE, HEAP_EVENT_RESTORE};

			e.what = whats[any(3)];
		} else {
			e.what = any(3) ? HEAP_EVENT_ALLOC : HEAP_EVENT_MOVED;
			e.block = ++blocks;
			e.stack = (u32)(any(stacks) * (HEAP_EVENT_STACK / stacks)) | 1;
			e.bytes = any(9) ? any(500) : ((1ULL << 30) - 3 + any(4)) << any(23);
			e.slack = any(9) ? any(3) : 509 + any(5);
			assert_int_equal(vec_push(&live, e.block), 0);
		}
		e.thread = thread;
		e.ms = ms;
		assert_int_equal(vec_push(to, e), 0);
	}
	vec_free(&live);
}

static void same(const struct heap_event *a, const struct heap_event *b)
{
	assert_int_equal(a->what, b->what);
	assert_int_equal(a->block, b->block);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->ms, b->ms);
	if (a->what > HEAP_EVENT_MOVED)
		return;
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->stack, b->stack);
	assert_int_equal(a->slack, b->slack);
}

static void threads_make(struct event_coder *c)
{
	for (u32 i = 0; i < THREADS; i++)
		assert_int_equal(event_coder_thread(c, 100 + i), 0);
}

/* The next event that is none of a new thread; 0: there is no more. */
static int next(struct event_decoder *d, u32 *threads, struct heap_event *ret)
{
	int rc;

	while ((rc = event_decoder_next(d, ret)) == 1 && ret->what == HEAP_EVENT_THREAD) {
		assert_int_equal(ret->thread, *threads);
		assert_int_equal(ret->tid, 100 + (*threads)++);
	}
	return rc;
}

/* In chunks of any size. Returns all bytes. */
static size_t round_trip(const events *all)
{
	struct event_decoder d;
	struct event_coder c;
	event_bytes bytes = {};
	size_t sum = 0, begin = 0;
	u32 threads = 0;

	assert_int_equal(event_coder_init(&c), 0);
	assert_int_equal(event_decoder_init(&d), 0);
	threads_make(&c);
	for (size_t i = 0; i < all->n; i++) {
		assert_int_equal(event_coder_put(&c, &all->v[i]), 0);
		if (!event_coder_is_full(&c) && any(5000) && i + 1 < all->n)
			continue;
		bytes.n = 0;
		assert_int_equal(d.events_before, c.events_before);
		assert_int_equal(event_coder_take(&c, &bytes), 0);
		assert_true(bytes.n <= EVENT_CHUNK_MAX);
		assert_false(event_coder_has(&c));
		sum += bytes.n;
		assert_int_equal(event_decoder_chunk(&d, bytes.v, bytes.n), 0);
		for (; begin <= i; begin++) {
			struct heap_event e;

			assert_int_equal(next(&d, &threads, &e), 1);
			same(&e, &all->v[begin]);
		}
		assert_int_equal(next(&d, &threads, &(struct heap_event){}), 0);
	}
	assert_int_equal(threads, THREADS);
	event_coder_free(&c);
	event_decoder_free(&d);
	vec_free(&bytes);
	return sum;
}

static void what_goes_in_comes_out(void **state)
{
	static const u64 stacks[] = {1, 7, 1000};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(stacks); i++) {
		events all = {};

		events_make(&all, 200000, stacks[i]);
		assert_true(round_trip(&all) < 200000 * 12);
		vec_free(&all);
	}
}

/* A chunk ends where it has many events, however few bytes they are. */
static void chunks_end(void **state)
{
	struct heap_event e = {.stack = 1, .bytes = 10, .ms = 5};
	struct event_coder c;
	u64 n = 0;

	(void)state;
	assert_int_equal(event_coder_init(&c), 0);
	threads_make(&c);
	for (; !event_coder_is_full(&c); n++)
		assert_int_equal(event_coder_put(&c, &e), 0);
	assert_int_equal(n, EVENT_CHUNK_EVENTS);
	event_coder_free(&c);
}

/* An account has no room for later ones: they are damage. */
static void no_clock_is_that_late(void **state)
{
	struct heap_event e = {.stack = 1, .bytes = 10, .ms = HEAP_EVENT_MS}, got;
	struct event_decoder d;
	struct event_coder c;
	event_bytes bytes = {};
	u32 threads = 0;

	(void)state;
	assert_int_equal(event_coder_init(&c), 0);
	assert_int_equal(event_decoder_init(&d), 0);
	threads_make(&c);
	assert_int_equal(event_coder_put(&c, &e), 0);
	e.ms++;
	assert_int_equal(event_coder_put(&c, &e), 0);
	assert_int_equal(event_coder_take(&c, &bytes), 0);
	assert_int_equal(event_decoder_chunk(&d, bytes.v, bytes.n), 0);
	assert_int_equal(next(&d, &threads, &got), 1);
	assert_int_equal(got.ms, HEAP_EVENT_MS);
	assert_int_equal(next(&d, &threads, &got), -EBADMSG);
	event_coder_free(&c);
	event_decoder_free(&d);
	vec_free(&bytes);
}

static void what_repeats_is_small(void **state)
{
	events all = {};
	u64 blocks = 0;

	(void)state;
	for (u32 i = 0; i < 20000; i++) {
		struct heap_event held = {.block = ++blocks, .bytes = 100, .stack = 1};
		struct heap_event brief = {.block = ++blocks, .bytes = 30, .stack = 2};
		struct heap_event gone = {.block = blocks, .what = HEAP_EVENT_FREE};

		assert_int_equal(vec_push(&all, held), 0);
		assert_int_equal(vec_push(&all, brief), 0);
		assert_int_equal(vec_push(&all, gone), 0);
	}
	for (u64 i = 0; i < 20000; i++) /* what was held, in its order */
		assert_int_equal(vec_push(&all, ((struct heap_event){.block = 2 * i + 1,
							.what = HEAP_EVENT_FREE})),
			0);
	assert_true(round_trip(&all) < 1000); /* 80,000 events, heads of chunks included */
	vec_free(&all);
}

static void damage_is_survived(void **state)
{
	struct event_coder c;
	event_bytes bytes = {};
	events all = {};

	(void)state;
	events_make(&all, 500, 3);
	assert_int_equal(event_coder_init(&c), 0);
	threads_make(&c);
	vec_each (e, &all)
		assert_int_equal(event_coder_put(&c, e), 0);
	assert_int_equal(event_coder_take(&c, &bytes), 0);
	for (u32 round = 0; round < 20000; round++) {
		size_t n = any(3) ? bytes.n : any(bytes.n), hit = any(bytes.n);
		u8 *copy = malloc(n + 1), was = bytes.v[hit];
		struct event_decoder d;
		struct heap_event e;
		u32 threads = 0;

		bytes.v[hit] = (u8)any(256);
		memcpy(copy, bytes.v, n); /* of this size, so that a sanitizer sees its end */
		bytes.v[hit] = was;
		assert_int_equal(event_decoder_init(&d), 0);
		/* what comes behind what is damaged is not trusted either */
		for (u32 again = 0; again < 2; again++) {
			if (event_decoder_chunk(&d, copy, n))
				continue;
			while (event_decoder_next(&d, &e) == 1) {
				threads += e.what == HEAP_EVENT_THREAD;
				assert_true(e.block <= d.model.blocks);
				assert_true(e.stack <= HEAP_EVENT_STACK);
				assert_true(e.what == HEAP_EVENT_THREAD || e.thread < threads);
			}
		}
		event_decoder_free(&d);
		free(copy);
	}
	event_coder_free(&c);
	vec_free(&bytes);
	vec_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(chunks_end),
		cmocka_unit_test(no_clock_is_that_late),
		cmocka_unit_test(what_repeats_is_small),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
