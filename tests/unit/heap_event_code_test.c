/* Events as bytes and back: what goes in comes out, damage is survived, what repeats is small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/heap/event_code.h"

static u64 x = 88172645463325252ULL;

static u64 any(u64 below)
{
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return (x >> 11) % below;
}

typedef VEC(struct heap_event) events;

/* Blocks are freed at any time; sizes and stacks may be the largest there are. */
static void events_make(events *to, u32 n, u64 stacks)
{
	VEC(u64) live = {};
	u64 blocks = 0;

	for (u32 i = 0; i < n; i++) {
		struct heap_event e = {};

		if (live.n && any(2)) {
			size_t at = any(live.n);

			e = (struct heap_event){.free = true, .block = live.v[at]};
			live.v[at] = live.v[--live.n];
		} else {
			e.block = ++blocks;
			e.stack = (u32)(any(stacks) * (HEAP_EVENT_STACK / stacks)) | 1;
			e.bytes = any(9) ? any(500) : HEAP_EVENT_BYTES;
			assert_int_equal(vec_push(&live, e.block), 0);
		}
		assert_int_equal(vec_push(to, e), 0);
	}
	vec_free(&live);
}

static void same(const struct heap_event *a, const struct heap_event *b)
{
	assert_int_equal(a->free, b->free);
	assert_int_equal(a->block, b->block);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->stack, b->stack);
}

/* In chunks of any size. Returns all bytes. */
static size_t round_trip(const events *all)
{
	struct event_decoder d;
	struct event_coder c;
	event_bytes bytes = {};
	size_t sum = 0, begin = 0;

	assert_int_equal(event_coder_init(&c), 0);
	assert_int_equal(event_decoder_init(&d), 0);
	for (size_t i = 0; i < all->n; i++) {
		assert_int_equal(event_coder_put(&c, &all->v[i]), 0);
		if (any(5000) && i + 1 < all->n)
			continue;
		bytes.n = 0;
		assert_int_equal(event_coder_take(&c, &bytes), 0);
		sum += bytes.n;
		assert_int_equal(event_decoder_chunk(&d, bytes.v, bytes.n), 0);
		for (; begin <= i; begin++) {
			struct heap_event e;

			assert_int_equal(event_decoder_next(&d, &e), 1);
			same(&e, &all->v[begin]);
		}
		assert_int_equal(event_decoder_next(&d, &(struct heap_event){}), 0);
	}
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

		events_make(&all, 60000, stacks[i]);
		assert_true(round_trip(&all) < 60000 * 12);
		vec_free(&all);
	}
}

static void what_repeats_is_small(void **state)
{
	events all = {};
	u64 blocks = 0;

	(void)state;
	for (u32 i = 0; i < 20000; i++) {
		struct heap_event held = {.block = ++blocks, .bytes = 100, .stack = 1};
		struct heap_event brief = {.block = ++blocks, .bytes = 30, .stack = 2};
		struct heap_event gone = {.block = blocks, .free = true};

		assert_int_equal(vec_push(&all, held), 0);
		assert_int_equal(vec_push(&all, brief), 0);
		assert_int_equal(vec_push(&all, gone), 0);
	}
	for (u64 i = 0; i < 20000; i++) /* what was held, in its order */
		assert_int_equal(
			vec_push(&all, ((struct heap_event){.block = 2 * i + 1, .free = true})), 0);
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
	vec_each (e, &all)
		assert_int_equal(event_coder_put(&c, e), 0);
	assert_int_equal(event_coder_take(&c, &bytes), 0);
	for (u32 round = 0; round < 3000; round++) {
		size_t n = any(3) ? bytes.n : any(bytes.n), hit = any(bytes.n);
		u8 *copy = malloc(n + 1), was = bytes.v[hit];
		struct event_decoder d;
		struct heap_event e;
		u64 blocks = 0;

		bytes.v[hit] = (u8)any(256);
		memcpy(copy, bytes.v, n); /* of this size, so that a sanitizer sees its end */
		bytes.v[hit] = was;
		assert_int_equal(event_decoder_init(&d), 0);
		if (!event_decoder_chunk(&d, copy, n))
			for (u32 i = 0; i < 100000 && event_decoder_next(&d, &e) == 1; i++) {
				blocks += !e.free;
				assert_true(e.block && e.block <= blocks);
				assert_true(e.bytes <= HEAP_EVENT_BYTES);
				assert_true(e.stack <= HEAP_EVENT_STACK);
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
		cmocka_unit_test(what_repeats_is_small),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
