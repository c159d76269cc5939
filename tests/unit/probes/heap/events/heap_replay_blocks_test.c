/* Live blocks by number: the sums are those of an account by address, in as little memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/heap/events/replay_blocks.h"

#define FIXED_BYTES (3U << 20) /* the newest pages, and the room to be used next */

struct both {
	struct account by_address, by_number;
	struct replay_blocks blocks;
	u64 n; /* allocated */
};

static void both_open(struct both *b)
{
	u32 t;

	*b = (struct both){};
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(account_thread(&b->by_address, 7 + i, &t), 0);
		assert_int_equal(account_thread(&b->by_number, 7 + i, &t), 0);
	}
}

static void both_alloc(struct both *b, u32 thread, u64 bytes, u32 stack)
{
	u64 number = ++b->n, ms = number / 100;

	assert_int_equal(account_alloc(&b->by_address, thread, replay_blocks_address(number), bytes,
				 1, stack, number % 7 == 0, ms),
		0);
	assert_int_equal(replay_blocks_alloc(&b->blocks, &b->by_number, thread, number, bytes, 1,
				 stack, number % 7 == 0, ms),
		0);
}

static void both_free(struct both *b, u32 thread, u64 number)
{
	u64 ms = b->n / 100;

	account_free(&b->by_address, thread, replay_blocks_address(number), ms, NULL);
	replay_blocks_free(&b->blocks, &b->by_number, thread, number, ms, NULL);
}

static void both_move(struct both *b, u32 thread, u64 number, bool undo)
{
	struct account_moved x, y;
	u64 ms = b->n / 100;

	account_free(&b->by_address, thread, replay_blocks_address(number), ms, &x);
	replay_blocks_free(&b->blocks, &b->by_number, thread, number, ms, &y);
	assert_memory_equal(&x, &y, sizeof(x));
	if (!undo)
		return;
	assert_int_equal(account_restore(&b->by_address, thread, &x), 0);
	assert_int_equal(replay_blocks_restore(&b->blocks, &b->by_number, thread, &y), 0);
}

static void both_lose(struct both *b, u64 number)
{
	account_overwrite(&b->by_address, replay_blocks_address(number));
	replay_blocks_lose(&b->blocks, &b->by_number, number);
}

static void both_same(struct both *b)
{
	struct account *x = &b->by_address, *y = &b->by_number;

	account_settle_all(x);
	account_settle_all(y);
	assert_int_equal(x->sites.n, y->sites.n);
	assert_int_equal(x->threads.n, y->threads.n);
	assert_memory_equal(x->sites.v, y->sites.v, x->sites.n * sizeof(*x->sites.v));
	assert_memory_equal(x->threads.v, y->threads.v, x->threads.n * sizeof(*x->threads.v));
	assert_memory_equal(x->sizes, y->sizes, sizeof(x->sizes));
	assert_int_equal(x->live_bytes, y->live_bytes);
	assert_int_equal(x->live_blocks, y->live_blocks);
	assert_int_equal(x->peak_bytes, y->peak_bytes);
	assert_int_equal(x->peak_blocks, y->peak_blocks);
	assert_int_equal(x->peak_ms, y->peak_ms);
	assert_int_equal(x->allocations, y->allocations);
	assert_int_equal(x->bytes, y->bytes);
	assert_int_equal(x->moved, y->moved);
	assert_int_equal(x->frees, y->frees);
	assert_int_equal(x->temporary, y->temporary);
	assert_int_equal(x->unknown_frees, y->unknown_frees);
	assert_int_equal(x->overwritten, y->overwritten);
}

static void both_close(struct both *b)
{
	account_free_all(&b->by_address);
	account_free_all(&b->by_number);
	replay_blocks_free_all(&b->blocks);
}

static u64 bytes_of(const struct both *b)
{
	return replay_blocks_bytes(&b->blocks) + live_bytes(&b->by_number.live) +
	       live_bytes(&b->by_number.big);
}

static void any_order(void **state)
{
	struct both b;

	(void)state;
	both_open(&b);
	srand(1);
	for (u32 i = 0; i < 400000; i++) {
		u32 thread = (u32)rand() % 2;
		/* of the newest, of the last million, of any; of some that never were */
		u64 back = (u64)rand() % (1U << rand() % 20);
		u64 number = back <= b.n ? b.n - back : b.n + back;

		switch (rand() % 16) {
		case 0:
			both_move(&b, thread, number, rand() % 2);
			break;
		case 1:
			both_lose(&b, number);
			break;
		case 2 ... 8:
			both_free(&b, thread, number);
			break;
		default:
			both_alloc(&b, thread, (u64)rand() % (rand() % 9 ? 100 : 1 << 21),
				(u32)rand() % 50);
		}
	}
	both_same(&b);
	assert_true(b.by_number.live.n && b.blocks.n); /* both ways to keep one */
	for (u64 i = 1; i <= b.n; i++)
		both_free(&b, 0, i);
	assert_int_equal(b.by_number.live_blocks, 0);
	assert_int_equal(b.by_number.live.n, 0);
	assert_int_equal(b.blocks.n, 0);
	both_same(&b);
	both_close(&b);
}

/* One of so many is kept: freed at once, or when all are there. */
static void kept(u64 n, u64 one_of, bool late)
{
	struct both b;
	u64 most = 0;

	both_open(&b);
	for (u64 i = 1; i <= n; i++) {
		both_alloc(&b, 0, 10, 1);
		most = MAX(most, b.by_number.live_blocks);
		if (!late && i % one_of)
			both_free(&b, 0, i);
		assert_true(bytes_of(&b) <= 64 * most + FIXED_BYTES);
	}
	for (u64 i = 1; i <= n && late; i++) {
		if (i % one_of)
			both_free(&b, 0, i);
		assert_true(bytes_of(&b) <= 64 * most + FIXED_BYTES);
	}
	both_same(&b);
	both_close(&b);
}

static void memory_is_of_what_is_live(void **state)
{
	(void)state;
	for (u64 one_of = 1; one_of < 300; one_of = one_of * 3 / 2 + 1) {
		kept(200000, one_of, false);
		kept(200000, one_of, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),
		cmocka_unit_test(memory_is_of_what_is_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
