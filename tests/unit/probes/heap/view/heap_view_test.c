/* The heap view: records in, tables out. */
#include "probes/heap/heap.h"
#include "probes/heap/view/heap_view.h"
#include "view_fixture.h"

static struct heap_site site(u32 process, u32 stack, u64 allocations, u64 live, u64 peak)
{
	return REC(struct heap_site, REC_HEAP_SITE, .tgid = 100 + process, .process = process,
		.stack = stack, .allocations = allocations, .bytes = 10 * allocations,
		.frees = allocations - live / 10, .live_blocks = live / 10, .live_bytes = live,
		.peak_blocks = peak / 10, .peak_bytes = peak, .min_bytes = 10, .max_bytes = 10);
}

static struct heap_total total(u32 process, u64 allocations)
{
	return REC(struct heap_total, REC_HEAP_TOTAL, .tgid = 100 + process, .process = process,
		.allocations = allocations, .bytes = 10 * allocations, .comm = "worker",
		.peak_bytes = 500);
}

static void open_by(struct fixture *f, const char *by)
{
	view_open(f, &heap_view, &(struct view_options){.by = by}, "heap");
}

/* Two threads may number the same stack twice. */
static void numbers_of_one_stack_are_summed(void **state)
{
	struct heap_site one = site(1, 1, 5, 50, 50), other = site(1, 1, 3, 20, 30);
	struct fixture f;
	struct table *t;

	(void)state;
	one.site = 7;
	other.site = 8;
	open_by(&f, NULL);
	view_feed(&f, &one);
	view_feed(&f, &other);
	view_feed(&f, &one);
	view_report(&f);
	t = view_table_of(&f, "heap");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "allocations"), 8);
	assert_int_equal(cell_number(t, 0, "live_bytes"), 70);
	view_close(&f);
}

static void a_later_record_replaces_an_earlier(void **state)
{
	struct heap_site early = site(1, 1, 5, 50, 50), late = site(1, 1, 9, 20, 70);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, NULL);
	view_feed(&f, &early);
	view_feed(&f, &late);
	view_report(&f);
	t = view_table_of(&f, "heap");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "allocations"), 9);
	assert_int_equal(cell_number(t, 0, "live_bytes"), 20);
	assert_int_equal(cell_number(t, 0, "peak_bytes"), 70);
	view_close(&f);
}

static void stacks_of_processes_are_summed(void **state)
{
	struct heap_site a = site(1, 1, 5, 50, 50), b = site(2, 1, 7, 30, 30),
			 c = site(2, 2, 1, 0, 10);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, NULL);
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_feed(&f, &c);
	view_report(&f);
	t = view_table_of(&f, "heap");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "allocations"), 12);
	assert_int_equal(cell_number(t, 0, "peak_bytes"), 80);
	view_close(&f);
}

static void an_interval_shows_what_came_in_it(void **state)
{
	struct heap_site early = site(1, 1, 5, 50, 50), late = site(1, 1, 9, 20, 70);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, NULL);
	view_feed(&f, &early);
	f.of->reset(f.view);
	view_feed(&f, &late);
	view_report(&f);
	t = view_table_of(&f, "heap");
	assert_int_equal(cell_number(t, 0, "allocations"), 4);
	assert_int_equal(cell_number(t, 0, "live_bytes"), 20); /* now, whenever it came */
	view_close(&f);
}

static void processes_are_counted_by_their_totals(void **state)
{
	struct heap_total a = total(1, 5), b = total(2, 6);
	struct heap_site s = site(1, 1, 5, 50, 50);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, "comm");
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_feed(&f, &s); /* is in the total */
	view_report(&f);
	t = view_table_of(&f, "heap");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "allocations"), 11);
	assert_int_equal(view_table_of(&f, "process")->n_rows, 2);
	view_close(&f);
}

static void threads_have_rows_of_their_own(void **state)
{
	struct heap_thread a = REC(struct heap_thread, REC_HEAP_THREAD, .tgid = 5, .process = 1,
		.tid = 6, .thread = 1, .allocations = 3, .bytes = 30);
	struct heap_thread b = a;
	struct fixture f;
	struct table *t;

	(void)state;
	b.thread = 2; /* another thread, to which the kernel gave the same tid */
	open_by(&f, "thread");
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_report(&f);
	t = view_table_of(&f, "heap");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "allocations"), 6);
	assert_int_equal(cell_at(t, 0, "peak_bytes")->type, CELL_EMPTY);
	view_close(&f);
}

/* The course of a process, in bounded room: joined spans add up to what they were. */
static void live_bytes_over_time_are_kept_in_bounded_room(void **state)
{
	struct fixture f;
	struct table *t;
	u64 allocations = 0;
	s64 change = 0;

	(void)state;
	open_by(&f, NULL);
	for (u64 i = 1; i <= 200; i++) {
		struct heap_total r = total(1, 10 * i);

		r.h.time_ns = i * 1000000000;
		r.live_bytes = 1000 + (i % 7) * 10;
		view_feed(&f, &r);
	}
	view_report(&f);
	t = view_table_of(&f, "growth");
	assert_true(t->n_rows >= 16 && t->n_rows <= 32);
	for (size_t i = 0; i < t->n_rows; i++) {
		allocations += cell_number(t, i, "allocations");
		change += cell_at(t, i, "change_bytes")->s;
	}
	assert_int_equal(allocations, 2000);
	assert_int_equal(change, 1000 + 200 % 7 * 10);
	assert_int_equal(cell_number(t, t->n_rows - 1, "time_ns"), 200000000000);
	view_close(&f);
}

static void estimates_have_an_error_and_exact_sums_none(void **state)
{
	struct heap_total t = total(1, 100);
	struct heap_site a = site(1, 1, 5, 50, 50), b = site(1, 1, 3, 20, 30);
	struct fixture f;

	(void)state;
	a.live_error_bytes = 30;
	b.live_error_bytes = 40;
	b.site = 9;
	open_by(&f, NULL);
	view_feed(&f, &t);
	view_feed(&f, &a);
	view_report(&f);
	assert_int_equal(
		cell_at(view_table_of(&f, "heap"), 0, "live_error_bytes")->type, CELL_EMPTY);
	view_close(&f);
	t.h.flags = HEAP_SAMPLED;
	open_by(&f, NULL);
	view_feed(&f, &t);
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_report(&f);
	assert_int_equal(cell_number(view_table_of(&f, "heap"), 0, "live_error_bytes"), 50);
	view_close(&f);
}

static void lives_are_shown_as_a_histogram(void **state)
{
	struct heap_site a = site(1, 1, 100, 0, 50);
	struct fixture f;
	struct table *t;

	(void)state;
	a.lives[0] = 90;
	a.lives[11] = 10; /* 1024 to 2047 ms */
	a.max_life_ms = 2000;
	open_by(&f, NULL);
	view_feed(&f, &a);
	view_report(&f);
	t = view_table_of(&f, "heap");
	assert_true(cell_number(t, 0, "life_p50_ns") < 1100000);
	assert_true(cell_number(t, 0, "life_p99_ns") > 1000000000);
	assert_true(cell_number(t, 0, "life_p99_ns") <= 2001000000);
	view_close(&f);
}

/* Of a process that was attached to, what lies before and what an allocator rounds up is not known.
 */
static void what_attaching_cannot_tell_is_empty(void **state)
{
	struct heap_site s = site(1, 1, 5, 50, 50);
	struct heap_total t = total(1, 5);

	(void)state;
	s.slack_bytes = 30;
	for (int flags = 0; flags <= (HEAP_ATTACHED | HEAP_WHOLE); flags += HEAP_ATTACHED) {
		bool attached = flags & HEAP_ATTACHED;
		struct fixture f;
		struct table *table;

		t.h.flags = (u16)flags;
		open_by(&f, NULL);
		view_feed(&f, &t);
		view_feed(&f, &s);
		view_report(&f);
		table = view_table_of(&f, "heap");
		assert_int_equal(cell_number(table, 0, "live_bytes"), 50);
		assert_int_equal(
			cell_at(table, 0, "slack_bytes")->type, attached ? CELL_EMPTY : CELL_U64);
		assert_int_equal(f.report.notes.n, flags == HEAP_ATTACHED);
		view_close(&f);
	}
}

static void mappings_are_summed_by_stack_and_kind(void **state)
{
	struct heap_mapping a = REC(struct heap_mapping, REC_HEAP_MAPPING, .tgid = 101,
		.process = 1, .stack = 4, .site = 1, .kind = HEAP_MAPPED_ANONYMOUS, .calls = 3,
		.mapped_bytes = 300, .unmapped_bytes = 100, .live_bytes = 200, .peak_bytes = 250);
	struct heap_mapping b = a, c = a, wild = a;
	struct heap_mapped m = REC(struct heap_mapped, REC_HEAP_MAPPED, .tgid = 101, .process = 1,
		.peak_bytes = 500, .live_bytes = 400);
	struct heap_total t = total(1, 5), other = total(2, 5);
	struct fixture f;
	struct table *tb;

	(void)state;
	b.process = 2;
	c.kind = HEAP_MAPPED_FILE;
	wild.kind = 4711;
	open_by(&f, NULL);
	view_feed(&f, &t);
	view_feed(&f, &other);
	view_feed(&f, &a);
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_feed(&f, &c);
	view_feed(&f, &wild);
	view_feed(&f, &m);
	f.of->reset(f.view);
	a.calls = 7;
	a.unmapped_bytes = 150;
	view_feed(&f, &a);
	view_report(&f);
	tb = view_table_of(&f, "mapping");
	assert_int_equal(tb->n_rows, 3);
	assert_int_equal(cell_number(tb, 0, "calls"), 4);
	assert_int_equal(cell_number(tb, 0, "unmapped_bytes"), 50);
	assert_int_equal(cell_number(tb, 0, "live_bytes"), 400);
	assert_int_equal(cell_number(tb, 0, "peak_bytes"), 500);
	tb = view_table_of(&f, "process");
	assert_int_equal(cell_number(tb, 0, "mapped_peak_bytes"), 500);
	assert_int_equal(cell_at(tb, 1, "mapped_peak_bytes")->type, CELL_EMPTY);
	view_close(&f);
}

/* 1 starts 2, which execs 3; 4 is a fork of 3; 5 says that it comes after itself. */
static void the_tree_sums_what_is_below(void **state)
{
	struct heap_together_record all = REC(struct heap_together_record, REC_HEAP_TOGETHER,
		.peak_bytes = 900, .peak_most_bytes = 1000);
	static const u32 before[] = {0, 1, 2, 3, 5};
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, NULL);
	for (u32 i = 5; i > 0; i--) {
		struct heap_total one = total(i, i);

		one.before = before[i - 1];
		one.tgid = i == 3 ? 102 : one.tgid;
		one.h.flags = i == 4 ? HEAP_FORKED : 0;
		view_feed(&f, &one);
	}
	view_feed(&f, &all);
	view_report(&f);
	t = view_table_of(&f, "tree");
	assert_int_equal(t->n_rows, 6);
	assert_int_equal(cell_number(t, 0, "peak_bytes"), 900);
	assert_int_equal(cell_number(t, 0, "peak_most_bytes"), 1000);
	assert_int_equal(cell_number(t, 0, "sum_allocations"), 1 + 2 + 3 + 4 + 5);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(cell_number(t, 1 + i, "depth"), i);
	assert_int_equal(cell_number(t, 1, "sum_allocations"), 1 + 2 + 3 + 4);
	assert_int_equal(cell_number(t, 1, "processes"), 4);
	assert_int_equal(cell_number(t, 3, "sum_allocated_bytes"), 30 + 40);
	assert_int_equal(cell_at(t, 2, "state")->type, CELL_EMPTY);
	assert_cell_text(t, 3, "state", "exec");
	assert_cell_text(t, 4, "state", "fork");
	assert_cell_text(t, 4, "tree", "      worker");
	assert_int_equal(cell_number(t, 5, "depth"), 0);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_bytes_over_time_are_kept_in_bounded_room),
		cmocka_unit_test(estimates_have_an_error_and_exact_sums_none),
		cmocka_unit_test(lives_are_shown_as_a_histogram),
		cmocka_unit_test(a_later_record_replaces_an_earlier),
		cmocka_unit_test(numbers_of_one_stack_are_summed),
		cmocka_unit_test(stacks_of_processes_are_summed),
		cmocka_unit_test(an_interval_shows_what_came_in_it),
		cmocka_unit_test(processes_are_counted_by_their_totals),
		cmocka_unit_test(threads_have_rows_of_their_own),
		cmocka_unit_test(what_attaching_cannot_tell_is_empty),
		cmocka_unit_test(mappings_are_summed_by_stack_and_kind),
		cmocka_unit_test(the_tree_sums_what_is_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
