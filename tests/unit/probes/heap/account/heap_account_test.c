/* The account of a heap: events in, sums out, held against a plain model of the same events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "probes/heap/account/account.h"

static u32 thread(struct account *a)
{
	u32 t;

	assert_int_equal(account_thread(a, 100 + (u32)a->threads.n, &t), 0);
	return t;
}

static void alloc(struct account *a, u32 t, u64 at, u64 size, u32 stack)
{
	assert_int_equal(account_alloc(a, t, at, size, 0, stack, false, 10), 0);
}

static const struct account_site *site(struct account *a, u32 stack)
{
	vec_each (s, &a->sites)
		if (s->stack == stack) {
			account_settle(a, s);
			return s;
		}
	fail_msg("no site %u", stack);
	return NULL;
}

static void counts_blocks_and_bytes(void **state)
{
	struct account a = {};
	u32 t = thread(&a);

	(void)state;
	alloc(&a, t, 0x1000, 100, 1);
	alloc(&a, t, 0x2000, 50, 2);
	account_free(&a, t, 0x1000, 30, NULL);
	assert_int_equal(a.allocations, 2);
	assert_int_equal(a.bytes, 150);
	assert_int_equal(a.frees, 1);
	assert_int_equal(a.live_bytes, 50);
	assert_int_equal(a.peak_bytes, 150);
	assert_int_equal(a.peak_blocks, 2);
	assert_int_equal(site(&a, 1)->live_bytes, 0);
	assert_int_equal(site(&a, 1)->life_ms, 20);
	assert_int_equal(site(&a, 2)->live_blocks, 1);
	assert_int_equal(a.threads.v[t].live_bytes, 50);
	account_free_all(&a);
}

static void the_peak_is_as_it_was_at_the_time(void **state)
{
	struct account a = {};
	u32 t = thread(&a);

	(void)state;
	alloc(&a, t, 0x1000, 100, 1);
	alloc(&a, t, 0x2000, 100, 2);
	account_free(&a, t, 0x1000, 10, NULL);
	alloc(&a, t, 0x3000, 300, 3); /* the peak: 2 and 3 */
	account_free(&a, t, 0x2000, 10, NULL);
	alloc(&a, t, 0x1000, 50, 1);
	alloc(&a, t, 0x4000, 10, 4); /* was not there at the peak */
	assert_int_equal(a.peak_bytes, 400);
	assert_int_equal(a.peak_blocks, 2);
	assert_int_equal(site(&a, 1)->peak_bytes, 0);
	assert_int_equal(site(&a, 2)->peak_bytes, 100);
	assert_int_equal(site(&a, 3)->peak_bytes, 300);
	assert_int_equal(site(&a, 4)->peak_bytes, 0);
	assert_int_equal(site(&a, 1)->live_bytes, 50);
	account_free_all(&a);
}

static void temporary_is_before_the_threads_next_allocation(void **state)
{
	struct account a = {};
	u32 t = thread(&a), other = thread(&a);

	(void)state;
	alloc(&a, t, 0x1000, 8, 1);
	alloc(&a, other, 0x2000, 8, 2); /* another thread's does not count */
	account_free(&a, t, 0x1000, 10, NULL);
	assert_int_equal(a.temporary, 1);
	account_free(&a, t, 0x2000, 10, NULL); /* freed by another thread: not temporary */
	assert_int_equal(a.temporary, 1);
	alloc(&a, t, 0x1000, 8, 1);
	alloc(&a, t, 0x3000, 8, 1);
	account_free(&a, t, 0x1000, 10, NULL);
	assert_int_equal(a.temporary, 1);
	account_free_all(&a);
}

static void a_failed_realloc_changes_nothing(void **state)
{
	struct account a = {};
	struct account_moved m;
	u32 t = thread(&a);

	(void)state;
	alloc(&a, t, 0x1000, 100, 1);
	account_free(&a, t, 0x1000, 10, &m);
	assert_int_equal(account_restore(&a, t, &m), 0);
	assert_int_equal(a.frees, 0);
	assert_int_equal(a.temporary, 0);
	assert_int_equal(a.live_bytes, 100);
	assert_int_equal(a.threads.v[t].live_blocks, 1);
	account_free(&a, t, 0x9000, 10, &m); /* of a block nobody knows */
	assert_int_equal(a.unknown_frees, 1);
	assert_int_equal(account_restore(&a, t, &m), 0);
	assert_int_equal(a.unknown_frees, 0);
	account_free_all(&a);
}

static void what_does_not_add_up_is_counted(void **state)
{
	struct account a = {};
	u32 t = thread(&a);

	(void)state;
	account_free(&a, t, 0x1000, 10, NULL);
	alloc(&a, t, 0x1000, 100, 1);
	alloc(&a, t, 0x1000, 30, 2); /* its free was not seen */
	assert_int_equal(a.unknown_frees, 1);
	assert_int_equal(a.overwritten, 1);
	assert_int_equal(a.live_bytes, 30);
	assert_int_equal(a.live.n, 1);
	account_free_all(&a);
}

static void slack_is_by_eighths(void **state)
{
	struct account a = {};
	u32 t = thread(&a);

	(void)state;
	/* 10 bytes asked for, 24 usable: 24 / 8 - 10 / 8 */
	assert_int_equal(account_alloc(&a, t, 0x1000, 10, 2, 1, true, 0), 0);
	assert_int_equal(site(&a, 1)->slack, 14);
	assert_int_equal(site(&a, 1)->moved, 1);
	account_free_all(&a);
}

/* Sizes and blocks beyond what a table of fixed fields would hold. */
static void large_sizes_are_whole(void **state)
{
	struct account a = {};
	u32 t = thread(&a);

	(void)state;
	alloc(&a, t, 0x1000, 5ULL << 30, 1);
	alloc(&a, t, 0x7fffffffe000, 7ULL << 30, 1);
	assert_int_equal(a.peak_bytes, 12ULL << 30);
	account_free(&a, t, 0x7fffffffe000, 10, NULL);
	assert_int_equal(a.live_bytes, 5ULL << 30);
	alloc(&a, t, 0x2000, 3ULL << 40, 1); /* an arena that is not all used */
	assert_int_equal(a.live_bytes, (5ULL << 30) + (3ULL << 40));
	assert_int_equal(site(&a, 1)->bytes, (12ULL << 30) + (3ULL << 40));
	assert_int_equal(site(&a, 1)->max, ~0U);
	account_free_all(&a);
}

/* Each of 20,000 blocks is drawn as the library does; what they stand for is all of them. */
static void sampled_blocks_stand_for_all(void **state)
{
	static const u64 sizes[] = {1, 24, 1000, 4096, 10000, 100000};
	struct account a = {.sample_bytes = 4096};
	u32 t = thread(&a);
	u64 x = 88172645463325252ULL, drawn = 0;

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		u64 before = a.allocations, n = 400000 / (s + 1), got;

		for (u64 i = 0; i < n; i++) {
			double p = 1 - exp(-(double)sizes[s] / 4096);

			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			if ((double)(x >> 11) / 9007199254740992.0 >= p)
				continue;
			alloc(&a, t, 0x10000 + 16 * drawn++, sizes[s], 1);
		}
		got = a.allocations - before;
		/* Of 1 byte only about 98 are drawn: five times their deviation. */
		assert_in_range(got, n / 2, n + n / 2);
		if (sizes[s] >= 1000)
			assert_in_range(got, n - n / 50, n + n / 50);
	}
	for (u64 i = 0; i < drawn; i++)
		account_free(&a, t, 0x10000 + 16 * i, 10, NULL);
	assert_int_equal(a.live_bytes, 0);
	assert_int_equal(a.live_blocks, 0);
	assert_int_equal(a.frees, a.allocations);
	account_free(&a, t, 0x10000, 10, NULL);
	assert_int_equal(a.unknown_frees, 0);
	account_free_all(&a);
}

#define MODEL 65536
#define STACKS 16
#define MODEL_THREADS 3

/* A model that looks at everything after each event. */
struct model {
	struct {
		u64 size;
		u32 stack, thread;
		bool live;
	} blocks[MODEL];
	u64 live, peak, thread_live[MODEL_THREADS], site_live[STACKS], site_peak[STACKS];
};

static void model_step(struct model *m, struct account *a, u32 t, u32 at, u64 size, u32 stack)
{
	u64 address = 0x10000 + 16ULL * at;

	if (m->blocks[at].live) {
		m->live -= m->blocks[at].size;
		m->site_live[m->blocks[at].stack] -= m->blocks[at].size;
		m->thread_live[m->blocks[at].thread] -= m->blocks[at].size;
		m->blocks[at].live = false;
		account_free(a, t, address, 10, NULL);
		return;
	}
	m->blocks[at].live = true;
	m->blocks[at].size = size;
	m->blocks[at].stack = stack;
	m->blocks[at].thread = t;
	m->live += size;
	m->site_live[stack] += size;
	m->thread_live[t] += size;
	if (m->live > m->peak) {
		m->peak = m->live;
		memcpy(m->site_peak, m->site_live, sizeof(m->site_peak));
	}
	alloc(a, t, address, size, stack);
}

static void many_events_are_as_the_model_has_them(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct account a = {};
	u32 x = 12345;
	u64 blocks = 0;

	(void)state;
	assert_non_null(m);
	for (u32 i = 0; i < MODEL_THREADS; i++)
		assert_int_equal(thread(&a), i);
	for (u32 i = 0; i < 600000; i++) {
		u64 size;

		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		/* One in 16 is about as large as has room with the address (account_block.h), or
		 * more. */
		size = x >> 28 ? (x >> 12) % 1000 : (1 << 19) - 2 + (x >> 18) % 4;
		model_step(m, &a, (x >> 9) % MODEL_THREADS, x % MODEL, size,
			1 + (x >> 22) % (STACKS - 1));
	}
	for (u32 i = 0; i < MODEL; i++)
		blocks += m->blocks[i].live;
	assert_int_equal(a.live_bytes, m->live);
	assert_int_equal(a.live.n, blocks);
	assert_int_equal(a.peak_bytes, m->peak);
	assert_int_equal(a.unknown_frees + a.overwritten, 0);
	for (u32 s = 1; s < STACKS; s++) {
		assert_int_equal(site(&a, s)->live_bytes, m->site_live[s]);
		assert_int_equal(site(&a, s)->peak_bytes, m->site_peak[s]);
	}
	for (u32 i = 0; i < MODEL_THREADS; i++)
		assert_int_equal(a.threads.v[i].live_bytes, m->thread_live[i]);
	account_free_all(&a);
	free(m);
}

/* Sampled again and again, the estimates spread as far from the truth as their error says. */
static void the_error_of_an_estimate_is_its_spread(void **state)
{
	const u64 sizes[] = {16, 100, 1000, 5000}, blocks = 2000;
	double truth = 0, spread = 0, said = 0;
	u64 random = 88172645463325252ULL;

	(void)state;
	for (u64 i = 0; i < blocks; i++)
		truth += (double)sizes[i % 4];
	for (int round = 0; round < 200; round++) {
		struct account a = {.sample_bytes = 4096};
		u32 t = thread(&a);
		double off;

		for (u64 i = 0; i < blocks; i++) {
			double chance = -expm1(-(double)sizes[i % 4] / 4096);

			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			if ((double)(random >> 11) / 9007199254740992.0 < chance)
				alloc(&a, t, 0x10000 * (i + 1) + (u64)round * 16, sizes[i % 4], 1);
		}
		off = (double)a.live_bytes - truth;
		spread += off * off;
		said += a.variance.live;
		assert_true(fabs(site(&a, 1)->variance.live - a.variance.live) < 1);
		for (u64 i = 0; i < blocks; i++)
			account_free(&a, t, 0x10000 * (i + 1) + (u64)round * 16, 10, NULL);
		assert_true(a.variance.live == 0 && a.variance.bytes > 0 && a.variance.peak > 0);
		account_free_all(&a);
	}
	/* 200 rounds: the ratio of the two is within 30 % (three deviations). */
	assert_true(spread / said > 0.7 && spread / said < 1.3);
}

static void lives_and_ages_are_counted(void **state)
{
	struct account a = {};
	struct account_moved moved;
	u32 t = thread(&a);

	(void)state;
	for (u64 i = 0; i < 10; i++) /* at 0, 100, ... 900 ms, of 1 to 10 bytes */
		assert_int_equal(
			account_alloc(&a, t, 0x1000 * (i + 1), i + 1, 0, 1, false, 100 * i), 0);
	account_free(&a, t, 0x1000, 0, NULL);      /* less than 1 ms */
	account_free(&a, t, 0x2000, 103, NULL);    /* 3 ms */
	account_free(&a, t, 0x3000, 1000, &moved); /* 800 ms */
	assert_int_equal(site(&a, 1)->lives[2], 1);
	assert_int_equal(site(&a, 1)->lives[10], 1);
	assert_int_equal(account_restore(&a, t, &moved), 0);
	assert_int_equal(site(&a, 1)->lives[10], 0);
	assert_int_equal(site(&a, 1)->frees, 2);
	assert_int_equal(account_look(&a, 1000, 500), 0);
	assert_int_equal(a.ages.n, 1);
	assert_int_equal(a.ages.v[0].oldest_ms, 800);
	assert_int_equal(a.ages.v[0].old_blocks, 4); /* of 200 to 500 ms */
	assert_int_equal(a.ages.v[0].old_bytes, 3 + 4 + 5 + 6);
	assert_int_equal(a.ages.v[0].blocks[10], 3); /* 512 to 1023 ms */
	assert_int_equal(a.ages.v[0].blocks[7], 1);  /* 64 to 127 ms */
	account_free_all(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_blocks_and_bytes),
		cmocka_unit_test(lives_and_ages_are_counted),
		cmocka_unit_test(the_error_of_an_estimate_is_its_spread),
		cmocka_unit_test(the_peak_is_as_it_was_at_the_time),
		cmocka_unit_test(temporary_is_before_the_threads_next_allocation),
		cmocka_unit_test(a_failed_realloc_changes_nothing),
		cmocka_unit_test(what_does_not_add_up_is_counted),
		cmocka_unit_test(slack_is_by_eighths),
		cmocka_unit_test(large_sizes_are_whole),
		cmocka_unit_test(sampled_blocks_stand_for_all),
		cmocka_unit_test(many_events_are_as_the_model_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
