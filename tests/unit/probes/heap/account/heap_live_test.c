/* The table of live blocks: what was put there is there, and nothing else, in little memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "probes/heap/account/live_blocks.h"

static void put(struct live *l, u64 address, u64 what)
{
	struct live_slot *at;

	assert_int_equal(live_room(l, address, NULL), 0);
	at = live_at(l, address);
	assert_int_equal(at->where, 0);
	live_put(l, at, address, 5ULL << LIVE_ADDRESS_BITS, what);
}

/* Block i of so many, in one of three heaps, near to or far from the next one. */
static u64 address_of(u64 i, u64 step)
{
	const u64 heaps[] = {0x555555554000, 0x7f0000000000, 8};

	return heaps[i % 3] + i / 3 * step;
}

static void holds(u64 n, u64 step)
{
	struct live l = {};

	for (u64 i = 0; i < n; i++) {
		put(&l, address_of(i, step), i);
		assert_true(live_bytes(&l) <= 32 * l.n + (16 << 20));
	}
	for (u64 i = 0; i < n; i += 2)
		live_remove(&l, live_find(&l, address_of(i, step)));
	assert_int_equal(l.n, n / 2);
	for (u64 i = 0; i < n; i++) {
		const struct live_slot *s = live_find(&l, address_of(i, step));

		assert_int_equal(s != NULL, i % 2);
		assert_true(!s || (s->what == i && live_address(s) == address_of(i, step) &&
					  s->where >> LIVE_ADDRESS_BITS == 5));
	}
	for (u64 i = 1; i < n; i += 2)
		live_remove(&l, live_find(&l, address_of(i, step)));
	assert_int_equal(l.n, 0);
	for (u32 i = 0; i < LIVE_PARTS; i++)
		for (u32 k = 0; k < l.parts[i].size; k++)
			assert_int_equal(l.parts[i].v[k].where, 0);
	live_free(&l);
}

static void near_and_far(void **state)
{
	const u64 steps[] = {8, 16, 32, 48, 64, 80, 112, 272, 4096, 4112, 1 << 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		holds(60000, steps[i]);
	holds(4000000, 48);
}

static void of_nothing_there_is_nothing(void **state)
{
	struct live l = {};

	(void)state;
	assert_null(live_find(&l, 0x1000));
	live_prefetch(&l, 0x1000);
	put(&l, 0x1000, 1);
	for (u64 a = 0x1008; a < 0x9000; a += 8)
		assert_null(live_find(&l, a));
	assert_non_null(live_find(&l, 0x1000));
	live_free(&l);
}

static void what_takes_long_beats(void **state)
{
	struct live l = {};
	u32 beat = 0;

	(void)state;
	for (u64 i = 0; i < 10000; i++) {
		assert_int_equal(live_room(&l, 16 + 16 * i, &beat), 0);
		live_put(&l, live_at(&l, 16 + 16 * i), 16 + 16 * i, 0, 0);
	}
	assert_true(beat >= LIVE_PARTS);
	live_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_and_far),
		cmocka_unit_test(of_nothing_there_is_nothing),
		cmocka_unit_test(what_takes_long_beats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
