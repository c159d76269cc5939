/* Room that is given out in pieces: first fit, pieces that meet become one again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/unwind/extents.h"

static u32 take(struct extents *e, u32 n)
{
	u32 start = 0;

	assert_int_equal(extents_take(e, n, &start), 0);
	return start;
}

static void test_pieces(void **state)
{
	struct extents e = {};
	u32 start;

	(void)state;
	assert_int_equal(extents_take(&e, 1, &start), -ENOSPC);
	extents_give(&e, 100, 50);
	assert_int_equal(take(&e, 20), 100);
	assert_int_equal(take(&e, 20), 120);
	assert_int_equal(extents_take(&e, 20, &start), -ENOSPC);
	assert_int_equal(take(&e, 10), 140);
	assert_int_equal(e.free.n, 0);
	extents_give(&e, 100, 20);
	extents_give(&e, 140, 10);
	assert_int_equal(e.free.n, 2);
	assert_int_equal(take(&e, 5), 100);
	extents_give(&e, 120, 20); /* meets both */
	assert_int_equal(e.free.n, 1);
	assert_int_equal(take(&e, 45), 105);
	extents_give(&e, 7, 0);
	assert_int_equal(e.free.n, 0);
	extents_free(&e);
}

/* However pieces are given back, what is free is what was not taken. */
static void test_any_order(void **state)
{
	enum { PIECES = 64, SIZE = 3 };
	struct extents e = {};
	u32 seed = 1;

	(void)state;
	extents_give(&e, 0, PIECES * SIZE);
	for (int round = 0; round < 50; round++) {
		u32 at[PIECES];

		for (int i = 0; i < PIECES; i++)
			at[i] = take(&e, SIZE);
		assert_int_equal(e.free.n, 0);
		for (int i = PIECES - 1; i >= 0; i--) {
			u32 k, piece;

			seed = seed * 1103515245 + 12345;
			k = (seed >> 16) % (u32)(i + 1);
			piece = at[k];
			at[k] = at[i];
			extents_give(&e, piece, SIZE);
		}
		assert_int_equal(e.free.n, 1);
		assert_int_equal(e.free.v[0].n, PIECES * SIZE);
	}
	extents_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
