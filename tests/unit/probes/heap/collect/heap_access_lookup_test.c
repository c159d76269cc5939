/* Whose block an access was in, where forks have told nothing of themselves; and that of forks
 * which are over nothing is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/heap/collect/access_lookup.h"

#define BLOCK 0x100000ULL
#define PARENT 70

struct rig {
	struct access_lookup a;
	struct heap_process parent, other;
	struct heap_process *processes[2];
	size_t n;
	news_buffer news;
	u64 begin;
};

static void process_make(struct rig *r, struct heap_process *p, u32 pid)
{
	u32 thread;

	p->id = (u32)r->n + 1;
	p->pid = pid;
	p->start_ns = r->begin;
	p->touched = block_lookup_new(&r->a.told, 0);
	assert_non_null(p->touched);
	assert_int_equal(account_thread(&p->account, pid, &thread), 0);
	r->processes[r->n++] = p;
}

static int rig_make(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->begin = clock_mono_ns() - 100 * NSEC_PER_SEC;
	access_lookup_begin(&r->a);
	process_make(r, &r->parent, PARENT);
	assert_int_equal(account_alloc(&r->parent.account, 0, BLOCK, 4096, 0, 9, false,
				 r->begin / NSEC_PER_MSEC),
		0);
	*state = r;
	return 0;
}

static int rig_free(void **state)
{
	struct rig *r = *state;

	for (size_t i = 0; i < r->n; i++) {
		account_free_all(&r->processes[i]->account);
		block_lookup_free_all(r->processes[i]->touched);
	}
	access_lookup_free(&r->a);
	vec_free(&r->news);
	free(r);
	return 0;
}

static void forked(struct rig *r, u32 pid, u32 from, u64 ms)
{
	assert_int_equal(access_lookup_forked(&r->a, pid, from, r->begin + ms * NSEC_PER_MSEC), 0);
}

static void ask(struct rig *r, u32 pid, u64 ms)
{
	struct question q = {
		pid, pid, {.address = BLOCK + 8, .time_ns = r->begin + ms * NSEC_PER_MSEC}, false};

	assert_int_equal(access_lookup_ask(&r->a, &q), 0);
}

static void settle(struct rig *r, u64 ms)
{
	assert_int_equal(access_lookup_settle(&r->a, r->begin + ms * NSEC_PER_MSEC, r->processes,
				 r->n, &r->news),
		0);
}

static void a_fork_of_a_fork_has_the_block_too(void **state)
{
	struct rig *r = *state;

	forked(r, 80, PARENT, 100);
	forked(r, 81, 80, 200);
	ask(r, 80, 150);
	ask(r, 81, 300);
	ask(r, 81, 301);
	ask(r, 82, 302); /* nobody knows it */
	settle(r, 400);
	assert_int_equal(r->a.told.n, 2);
	assert_int_equal(r->a.told.v[0].tgid, 80);
	assert_int_equal(r->a.told.v[1].tgid, 81);
	assert_int_equal(r->a.told.v[1].stack, 9);
	/* Once it tells of itself it goes on with what was told. */
	process_make(r, &r->other, 81);
	r->other.original = &r->parent;
	r->other.start_ns = r->begin + 200 * NSEC_PER_MSEC;
	ask(r, 81, 500);
	settle(r, 600);
	assert_int_equal(r->a.told.n, 2);
}

static void of_what_is_over_nothing_is_kept(void **state)
{
	struct rig *r = *state;
	u64 ms = 1000;

	forked(r, 80, PARENT, 100);
	ask(r, 80, 150);
	for (u32 i = 0; i < 100000; i++, ms++) {
		u32 pid = 1000 + i % 30000;

		forked(r, pid, 80, ms);
		forked(r, pid + 50000, pid, ms);
		ask(r, pid, ms);
		ask(r, pid + 50000, ms);
		forked(r, pid, 0, ms + 1);
		forked(r, pid + 50000, 0, ms + 2);
		if (i % 100)
			continue;
		settle(r, ms);
		r->a.told.n = 0;
		assert_true(r->a.forks.n + r->a.copies.n < 12000);
	}
	settle(r, ms);
	r->a.told.n = 0;
	/* What goes on is known as it was. */
	ask(r, 80, ms);
	forked(r, 90, 80, ms);
	ask(r, 90, ms);
	settle(r, ms + 1);
	assert_int_equal(r->a.told.n, 1);
	assert_int_equal(r->a.told.v[0].tgid, 90);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_free)
	const struct CMUnitTest tests[] = {
		T(a_fork_of_a_fork_has_the_block_too),
		T(of_what_is_over_nothing_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
