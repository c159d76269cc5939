/* A stream of page records in, rows out. */
#include <errno.h>

#include "base/clock.h"
#include "probes/pages/pages.h"
#include "probes/pages/pages_view.h"
#include "view_fixture.h"

#define WHO(...) .who = {.tgid = 7, .migratetype = 1, .comm = "busy", __VA_ARGS__}

static void put_enum(struct fixture *f, const char *set, u64 value, const char *name)
{
	struct rec_enum e = REC(struct rec_enum, REC_ENUM, .value = value);

	snprintf(e.set, sizeof(e.set), "%s", set);
	snprintf(e.name, sizeof(e.name), "%s", name);
	view_feed(f, &e);
}

static void open_view(struct fixture *f, const struct view_options *o)
{
	struct rec_host host = REC(struct rec_host, REC_HOST, .page_bytes = 4096);
	struct rec_session session = REC(struct rec_session, REC_SESSION, .scope = "system-wide");
	struct rec_task task = REC(struct rec_task, REC_TASK, .tgid = 7, .comm = "busy");
	struct rec_tick tick = REC(struct rec_tick, REC_TICK);

	session.h.time_ns = NSEC_PER_SEC;
	tick.h.time_ns = 3 * NSEC_PER_SEC;
	view_open(f, &pages_view, o, "pages");
	view_feed(f, &host);
	view_feed(f, &session);
	view_feed(f, &task);
	view_feed(f, &tick);
	put_enum(f, "migratetype", 0, "Unmovable");
	put_enum(f, "migratetype", 1, "Movable");
	put_enum(f, "gfp", 0xcc0, "GFP_KERNEL");
	put_enum(f, "gfp", 0x100, "__GFP_ZERO");
}

static void put_alloc(struct fixture *f, struct pages_alloc a)
{
	a.h = (struct rec){.size = sizeof(a), .kind = REC_PAGES_ALLOC, .time_ns = 2000000000};
	view_feed(f, &a);
}

static void put_free(struct fixture *f, struct pages_free a)
{
	a.h = (struct rec){.size = sizeof(a), .kind = REC_PAGES_FREE, .time_ns = 2000000000};
	view_feed(f, &a);
}

static void put_allocs(struct fixture *f)
{
	put_alloc(f, (struct pages_alloc){
			     WHO(.order = 0), .count = 90, .refilled = 4, .refill_pages = 63});
	put_alloc(f, (struct pages_alloc){WHO(.order = 3), .count = 10, .direct = 6});
	put_alloc(f, (struct pages_alloc){WHO(.order = 3), .failures = 2});
}

static void test_allocations(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_allocs(&f);
	view_report(&f);
	t = view_table_of(&f, "allocations");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_cell_text(t, 0, "comm", "busy");
	assert_cell_text(t, 0, "migratetype", "Movable");
	assert_int_equal(cell_number(t, 0, "order"), 0);
	assert_int_equal(cell_number(t, 0, "count"), 90);
	assert_true(cell_at(t, 0, "per_second")->f == 22.5);
	assert_int_equal(cell_number(t, 0, "locked"), 4);
	assert_int_equal(cell_number(t, 0, "refill_pages"), 63);
	assert_int_equal(cell_number(t, 1, "order"), 3);
	assert_int_equal(cell_number(t, 1, "pages"), 80);
	assert_int_equal(cell_number(t, 1, "bytes"), 80 * 4096);
	assert_int_equal(cell_number(t, 1, "direct"), 6);
	assert_int_equal(cell_number(t, 1, "failures"), 2);
	assert_true(cell_at(t, 1, "locked_ratio")->f == 0.6);
	view_close(&f);
}

/* Of an interval it is what came in it. */
static void test_intervals(void **state)
{
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_allocs(&f);
	put_free(&f, (struct pages_free){WHO(.order = 3), .count = 5});
	view_report(&f);
	assert_int_equal(view_table_of(&f, "allocations")->n_rows, 2);
	assert_int_equal(view_table_of(&f, "frees")->n_rows, 1);
	view_next(&f);
	put_alloc(&f, (struct pages_alloc){WHO(.order = 3), .count = 1});
	view_report(&f);
	assert_int_equal(view_table_of(&f, "allocations")->n_rows, 1);
	assert_int_equal(cell_number(view_table_of(&f, "allocations"), 0, "count"), 1);
	assert_int_equal(view_table_of(&f, "frees")->n_rows, 0);
	view_close(&f);
}

/* Orders are of a recording, so of anybody: they do not make pages out of nothing. */
static void test_hostile_order(void **state)
{
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){.by = "process"});
	put_alloc(&f, (struct pages_alloc){WHO(.order = 200), .count = 1});
	view_report(&f);
	assert_int_equal(cell_number(view_table_of(&f, "allocations"), 0, "count"), 1);
	assert_int_equal(cell_number(view_table_of(&f, "allocations"), 0, "pages"), 0);
	view_close(&f);
}

static void test_gfp(void **state)
{
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){.by = "gfp"});
	put_alloc(&f, (struct pages_alloc){WHO(.gfp = 0xdc0), .count = 3});
	view_report(&f);
	assert_cell_text(view_table_of(&f, "allocations"), 0, "gfp", "GFP_KERNEL|__GFP_ZERO");
	view_close(&f);
}

static void put_frees(struct fixture *f)
{
	put_free(f, (struct pages_free){WHO(.order = 0), .count = 50});
	put_free(f, (struct pages_free){WHO(.order = 2), .count = 5});
	put_free(f, (struct pages_free){WHO(.order = PAGES_ORDER_UNKNOWN), .batched = 40});
}

static void test_frees(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_frees(&f);
	view_report(&f);
	t = view_table_of(&f, "frees");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "count"), 55);
	assert_int_equal(cell_number(t, 0, "pages"), 70);
	assert_int_equal(cell_number(t, 0, "batched"), 40);
	assert_int_equal(cell_number(t, 0, "single"), 15);
	view_close(&f);
}

/* By order the batched stand apart: theirs is not known, and so neither are the single ones'. */
static void test_frees_by_order(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.by = "order"});
	put_frees(&f);
	view_report(&f);
	t = view_table_of(&f, "frees");
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(cell_at(t, 0, "batched")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "single")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 2, "order")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 2, "count")->type, CELL_EMPTY);
	assert_int_equal(cell_number(t, 2, "batched"), 40);
	view_close(&f);
}

/* Processes for which there was no room are told by name, apart from those that have a row. */
static void test_named(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.by = "process"});
	put_alloc(&f, (struct pages_alloc){WHO(.order = 0), .count = 9});
	put_alloc(&f,
		(struct pages_alloc){.who = {.flags = PAGES_WHO_NAMED, .comm = "cc1"}, .count = 4});
	put_alloc(&f,
		(struct pages_alloc){.who = {.flags = PAGES_WHO_NAMED, .comm = "ld"}, .count = 2});
	view_report(&f);
	t = view_table_of(&f, "allocations");
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(cell_at(t, 1, "pid")->type, CELL_EMPTY);
	assert_cell_text(t, 1, "comm", "cc1");
	assert_cell_text(t, 2, "comm", "ld");
	view_close(&f);
}

static void put_pair(struct fixture *f, u32 from, u32 to, u64 pages)
{
	view_feed(f, &REC(struct pages_imbalance, REC_PAGES_IMBALANCE, .from = from, .to = to,
			     .pages = pages));
}

static bool noted(const struct fixture *f, const char *what)
{
	vec_each (n, &f->report.notes)
		if (strstr(*n, what))
			return true;
	return false;
}

static void test_cpus(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	view_feed(&f, &REC(struct pages_pcp, REC_PAGES_PCP, .cpu = 1, .direct = 2, .refill_runs = 3,
			      .refill_pages = 189, .drain_runs = 1, .drain_pages = 63,
			      .allocations = 500, .frees = 300));
	view_feed(&f, &REC(struct pages_lists, REC_PAGES_LISTS, .flags = PAGES_HIGH_FRACTION));
	put_pair(&f, 0, 0, 1000);
	put_pair(&f, 0, 1, 3000);
	put_pair(&f, 0, 1, 2000);
	view_report(&f);
	t = view_table_of(&f, "pcp");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "cpu"), 1);
	assert_int_equal(cell_number(t, 0, "refills"), 3);
	assert_true(cell_at(t, 0, "locks_per_second")->f == 1.5);
	assert_int_equal(cell_at(t, 0, "balance_pages")->s, 126);
	t = view_table_of(&f, "imbalance");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 1, "drained_cpu"), 0);
	assert_int_equal(cell_number(t, 1, "refilled_cpu"), 1);
	assert_int_equal(cell_number(t, 1, "pages"), 5000);
	assert_true(noted(&f, "83 % of the refilled pages had been drained by another CPU"));
	assert_true(noted(&f, "vm.percpu_pagelist_high_fraction is now 0"));
	view_close(&f);
}

/* A machine on which few pages travel is told nothing. */
static void test_cpus_calm(void **state)
{
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_pair(&f, 0, 0, 90000);
	put_pair(&f, 0, 1, 9000);
	view_report(&f);
	assert_false(noted(&f, "drained by another CPU"));
	view_close(&f);
	open_view(&f, &(struct view_options){});
	put_pair(&f, 0, 1, 1900);
	view_report(&f);
	assert_false(noted(&f, "drained by another CPU"));
	view_close(&f);
}

/* What was counted in bursts is told so, and a second is one of the bursts. */
static void test_bursts(void **state)
{
	const struct table *t;
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){.by = "process"});
	for (int i = 0; i < 2; i++)
		view_feed(&f, &REC(struct pages_sampled, REC_PAGES_SAMPLED, .bursts = 1,
				      .on_ns = NSEC_PER_SEC / 4, .covered_ns = NSEC_PER_SEC));
	put_alloc(&f, (struct pages_alloc){WHO(.order = 0), .count = 100});
	view_feed(&f, &REC(struct pages_pcp, REC_PAGES_PCP, .cpu = 1, .direct = 30));
	view_report(&f);
	t = view_table_of(&f, "allocations");
	assert_int_equal(cell_number(t, 0, "count"), 100);
	assert_true(cell_at(t, 0, "per_second")->f == 200);
	assert_true(cell_at(view_table_of(&f, "pcp"), 0, "locks_per_second")->f == 60);
	assert_true(noted(&f, "pages were counted in 2 bursts, 500 ms in total, out of"));
	view_close(&f);
}

/* How long CPUs waited is empty where it was not looked at. */
static void test_waits(void **state)
{
	struct rec_method m = REC(struct rec_method, REC_METHOD, .probe = "pages",
		.data = PAGES_WAITS, .method = "raw tracepoints");
	struct pages_pcp pcp = REC(
		struct pages_pcp, REC_PAGES_PCP, .cpu = 1, .direct = 2, .waits = 3, .wait_ns = 900);
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	view_feed(&f, &m);
	view_feed(&f, &pcp);
	view_feed(&f, &pcp);
	view_report(&f);
	assert_int_equal(cell_number(view_table_of(&f, "pcp"), 0, "waits"), 6);
	assert_int_equal(cell_number(view_table_of(&f, "pcp"), 0, "wait_ns"), 1800);
	view_close(&f);
	open_view(&f, &(struct view_options){});
	view_feed(&f, &pcp);
	view_report(&f);
	assert_int_equal(cell_at(view_table_of(&f, "pcp"), 0, "wait_ns")->type, CELL_EMPTY);
	view_close(&f);
}

static void put_held(struct fixture *f, u64 time_ns, u64 count)
{
	struct pages_follow follow = REC(struct pages_follow, REC_PAGES_FOLLOW, .held = count,
		.room = 262144, .untracked = 5, .unknown = 6, .parts = 7);
	struct pages_held held = REC(struct pages_held, REC_PAGES_HELD, WHO(.order = 1),
		.count = count, .oldest_ns = 1000);

	follow.h.time_ns = held.h.time_ns = time_ns;
	held.hist[10] = (u32)count;
	view_feed(f, &follow);
	if (count)
		view_feed(f, &held);
}

static void test_held(void **state)
{
	char *held[] = {"held"};
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.operands = held, .n_operands = 1, .by = "comm"});
	put_alloc(&f, (struct pages_alloc){WHO(.order = 1), .count = 20});
	put_held(&f, 10, 12);
	put_held(&f, 20, 4);
	view_feed(&f, &REC(struct pages_lifetime, REC_PAGES_LIFETIME, WHO(.order = 1), .count = 16,
			      .total_ns = 16000, .max_ns = 1000, .hist = {[10] = 16}));
	view_report(&f);
	t = view_table_of(&f, "held");
	assert_int_equal(t->n_rows, 1);
	assert_cell_text(t, 0, "comm", "busy"); /* known from its allocations */
	assert_int_equal(cell_number(t, 0, "count"), 4);
	assert_int_equal(cell_number(t, 0, "pages"), 8);
	assert_int_equal(cell_number(t, 0, "freed"), 16);
	assert_int_equal(cell_number(t, 0, "age_max_ns"), 1000);
	assert_in_range(cell_number(t, 0, "p50_ns"), 512, 1000);
	assert_true(noted(&f, "5 allocations were not followed"));
	assert_true(noted(&f, "6 frees were of pages"));
	assert_true(noted(&f, "7 allocations were freed in parts"));
	view_close(&f);
}

/* A look at which nothing is held takes away what was held before. */
static void test_held_gone(void **state)
{
	char *held[] = {"held"};
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){.operands = held, .n_operands = 1});
	put_held(&f, 10, 12);
	put_held(&f, 20, 0);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "held")->n_rows, 0);
	view_close(&f);
}

static void test_operand(void **state)
{
	char *words[] = {"heldd"};
	_cleanup_free_ void *view = calloc(1, pages_view.size);
	struct err err = {};

	(void)state;
	assert_int_equal(pages_view.init(view,
				 &(struct view_options){.operands = words, .n_operands = 1}, &err),
		-EINVAL);
	assert_non_null(strstr(err.msg, "heldd"));
	pages_view.destroy(view);
}

static void test_each(void **state)
{
	struct pages_failure e = REC(struct pages_failure, REC_PAGES_FAILURE, .tgid = 7, .tid = 8,
		.order = 9, .migratetype = 1, .gfp = 0xcc0, .comm = "busy");
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.each = true});
	view_feed(&f, &e);
	t = pages_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "tid"), 8);
	assert_int_equal(cell_number(t, 0, "order"), 9);
	assert_cell_text(t, 0, "migratetype", "Movable");
	assert_cell_text(t, 0, "gfp", "GFP_KERNEL");
	assert_int_equal(pages_view.each(f.view, &f.report)->n_rows, 0);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_hostile_order),
		cmocka_unit_test(test_gfp),
		cmocka_unit_test(test_frees),
		cmocka_unit_test(test_frees_by_order),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_cpus_calm),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_held_gone),
		cmocka_unit_test(test_operand),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests_name("pages_view", tests, NULL, NULL);
}
