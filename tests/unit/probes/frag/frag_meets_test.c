/* What an allocation meets: each turn of the rule in frag_meets.h, at its edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/frag/frag_meets.h"
#include "sys/memory/extfrag.h"

/* Free: 6 single pages and two blocks of order 4, 38 pages; the marks are 10 and 20. */
static struct frag_pool pool(void)
{
	struct frag_pool p = {};

	p.zone.flags = FRAG_MARKS | FRAG_COMPACTION;
	p.zone.orders = 11;
	p.zone.index = p.zone.kernel_index = 2;
	p.zone.threshold = 500;
	p.zone.free_blocks[0] = 6;
	p.zone.free_blocks[4] = 2;
	p.zone.free_pages = 38;
	p.zone.min_pages = 10;
	p.zone.low_pages = 20;
	return p;
}

static void assert_meets(
	const struct frag_pool *p, u32 order, enum frag_meets meets, enum frag_why why)
{
	struct frag_answer a = frag_meet(p, order);

	if (a.meets != meets || a.why != why)
		fail_msg("order %u: meets %d because %d, not %d because %d", order, a.meets, a.why,
			meets, why);
}

static void test_marks(void **state)
{
	struct frag_pool p = pool();

	(void)state;
	assert_meets(&p, 0, MEETS_IMMEDIATE, WHY_ABOVE_LOW);
	/* 38 - 15 = 23 above 20 */
	assert_meets(&p, 4, MEETS_IMMEDIATE, WHY_ABOVE_LOW);
	p.zone.low_pages = 23;
	assert_meets(&p, 4, MEETS_KSWAPD, WHY_BELOW_LOW);
	p.zone.low_pages = 22;
	assert_meets(&p, 4, MEETS_IMMEDIATE, WHY_ABOVE_LOW);
	p.zone.free_pages = 20;
	assert_meets(&p, 0, MEETS_KSWAPD, WHY_BELOW_LOW);
	p.zone.free_pages = 11;
	assert_meets(&p, 0, MEETS_KSWAPD, WHY_BELOW_LOW);
	p.zone.free_pages = 10;
	assert_meets(&p, 0, MEETS_RECLAIM, WHY_BELOW_MIN);
}

static void test_fragmented(void **state)
{
	struct frag_pool p = pool();
	struct zone_blocks b;

	(void)state;
	p.zone.free_blocks[4] = 0;
	p.zone.free_blocks[0] = 4000;
	p.zone.free_pages = 4000;
	b = frag_blocks(&p.zone);
	assert_in_range(extfrag_index(&b, 9), 990, 1000);
	assert_meets(&p, 0, MEETS_IMMEDIATE, WHY_ABOVE_LOW);
	assert_meets(&p, 1, MEETS_COMPACTION, WHY_NO_BLOCK);
	assert_meets(&p, 9, MEETS_COMPACTION, WHY_NO_BLOCK);
	p.zone.flags = FRAG_MARKS;
	assert_meets(&p, 1, MEETS_RECLAIM, WHY_NO_COMPACTION);
	assert_meets(&p, 0, MEETS_IMMEDIATE, WHY_ABOVE_LOW);
}

static void test_room_to_compact(void **state)
{
	struct frag_pool p = pool();

	(void)state;
	p.zone.free_blocks[4] = 0;
	p.zone.free_blocks[0] = 100;
	/* up to order 3 the copies must fit above min: 10 + 2 * 8; the index does not count */
	p.zone.free_pages = 26;
	assert_meets(&p, 3, MEETS_RECLAIM, WHY_NO_ROOM);
	p.zone.free_pages = 27;
	assert_meets(&p, 3, MEETS_COMPACTION, WHY_NO_BLOCK);
	/* from order 4 on above low: 20 + 2 * 16 */
	p.zone.free_pages = 52;
	assert_meets(&p, 4, MEETS_RECLAIM, WHY_NO_ROOM);
	p.zone.free_pages = 53;
	assert_meets(&p, 4, MEETS_COMPACTION, WHY_NO_BLOCK);
	p.zone.free_pages = 9;
	assert_meets(&p, 3, MEETS_RECLAIM, WHY_BELOW_MIN);
}

/* Few blocks that are almost large enough: the index is low, memory is short. */
static void test_short(void **state)
{
	struct frag_pool p = pool();
	struct zone_blocks b;

	(void)state;
	memset(p.zone.free_blocks, 0, sizeof(p.zone.free_blocks));
	p.zone.free_blocks[8] = 6;
	p.zone.free_pages = 6 * 256;
	b = frag_blocks(&p.zone);
	assert_in_range(extfrag_index(&b, 9), 0, 500);
	assert_meets(&p, 9, MEETS_RECLAIM, WHY_SHORT);
	p.zone.threshold = 0;
	assert_meets(&p, 9, MEETS_COMPACTION, WHY_NO_BLOCK);
}

/* Blocks that an ordinary allocation may not have do not count, nor do their pages. */
static void test_apart(void **state)
{
	struct frag_pool p = pool();

	(void)state;
	p.zone.free_blocks[0] = 1000;
	p.zone.free_pages = 1032;
	p.apart_blocks[4] = 2;
	assert_meets(&p, 4, MEETS_COMPACTION, WHY_NO_BLOCK);
	assert_meets(&p, 0, MEETS_IMMEDIATE, WHY_ABOVE_LOW);
	p.atomic_pages = 1013;
	assert_meets(&p, 0, MEETS_KSWAPD, WHY_BELOW_LOW);
	p.atomic_pages = 0;
	p.zone.cma_pages = 1022;
	assert_meets(&p, 0, MEETS_RECLAIM, WHY_BELOW_MIN);
	/* an old count of blocks, larger than what is free now */
	p.apart_blocks[0] = 5000;
	assert_int_equal(frag_meet(&p, 0).meets, MEETS_RECLAIM);
}

static void test_reserve(void **state)
{
	struct frag_pool p = pool();

	(void)state;
	p.zone.index = 0;
	p.zone.reserve_pages[2] = 30;
	assert_meets(&p, 0, MEETS_RESERVED, WHY_RESERVED);
	assert_int_equal(frag_meet(&p, 0).low_pages, 50);
	p.zone.reserve_pages[2] = 18;
	assert_meets(&p, 0, MEETS_KSWAPD, WHY_BELOW_LOW);
	/* the zone above the kernel's own: for movable pages, kept from nobody */
	p.zone.index = 3;
	assert_meets(&p, 0, MEETS_IMMEDIATE, WHY_ABOVE_LOW);
}

static void test_unknown(void **state)
{
	struct frag_pool p = pool();

	(void)state;
	assert_meets(&p, 11, MEETS_UNKNOWN, WHY_UNKNOWN);
	assert_meets(&p, 0xffffffff, MEETS_UNKNOWN, WHY_UNKNOWN);
	p.zone.flags = FRAG_COMPACTION;
	assert_meets(&p, 0, MEETS_UNKNOWN, WHY_UNKNOWN);
	assert_null(frag_meets_name(MEETS_UNKNOWN));
	assert_string_equal(frag_meets_name(MEETS_RESERVED), "reserved");
}

/* What a damaged recording may hold. */
static void test_hostile(void **state)
{
	struct frag_pool p;

	(void)state;
	memset(&p, 0xff, sizeof(p));
	for (u32 order = 0; order < 40; order++)
		frag_meet(&p, order);
	assert_int_equal(frag_pages_from(&p.zone, 1000), 0);
	assert_int_equal(frag_blocks(&p.zone).orders, FRAG_ORDERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_fragmented),
		cmocka_unit_test(test_room_to_compact),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests_name("frag_meets", tests, NULL, NULL);
}
