/* Records of huge pages in, rows out; the estimate of waste. */
#include "base/clock.h"
#include "probes/thp/thp.h"
#include "probes/thp/thp_view.h"
#include "probes/thp/thp_words.h"
#include "sys/process/huge_waste.h"
#include "view_fixture.h"

#define FEED(f_, type_, kind_, ...) view_feed((f_), &REC(type_, kind_, __VA_ARGS__))
#define MIB (1ULL << 20)

static void put_method(struct fixture *f, const char *data)
{
	struct rec_method m = REC(struct rec_method, REC_METHOD, .probe = "thp", .method = "raw");

	snprintf(m.data, sizeof(m.data), "%s", data);
	view_feed(f, &m);
}

static void put_value(struct fixture *f, u16 source, const char *name, u64 v, const char *text)
{
	struct thp_value r = REC(struct thp_value, REC_THP_VALUE, .value = v, .source = source);

	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.text, sizeof(r.text), "%s", text);
	view_feed(f, &r);
}

static void open_view(struct fixture *f, const struct view_options *o)
{
	view_open(f, &thp_view, o, "thp");
	FEED(f, struct rec_session, REC_SESSION, .command = "thp");
	FEED(f, struct rec_task, REC_TASK, .tgid = 7, .comm = "busy");
	FEED(f, struct rec_enum, REC_ENUM, .set = THP_RESULT_SET, .value = 1, .name = "succeeded");
	put_method(f, "huge faults, fallbacks by process");
	put_method(f, "direct compaction for huge pages");
	put_method(f, "direct reclaim for huge pages");
	put_method(f, "huge pages of processes");
}

static void test_faults(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_FAULT, .count = 3);
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_FAULT, .count = 3);
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_FALLBACK, .count = 2);
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_COMPACT, .count = 4,
		.timed = 4, .total_ns = 400);
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_RECLAIM, .count = 5,
		.timed = 5, .total_ns = 50);
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_KSWAPD, .count = 1,
		.timed = 1, .total_ns = 7);
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = 200, .count = 4);
	view_report(&f);
	t = view_table_of(&f, "faults");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_at(t, 0, "reclaims")->u, 6);
	assert_int_equal(cell_at(t, 0, "reclaim_ns")->u, 57);
	assert_int_equal(cell_at(t, 0, "count")->u, 6);
	assert_int_equal(cell_at(t, 0, "fallbacks")->u, 2);
	assert_true(cell_at(t, 0, "fallback_ratio")->f == 0.25);
	assert_int_equal(cell_at(t, 0, "compact_ns")->u, 400);
	/* there is no hook for splits, and none for times */
	assert_int_equal(cell_at(t, 0, "pmd_splits")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "total_ns")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "zero_ns")->type, CELL_EMPTY);
	view_close(&f);
}

static void test_times(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_HANDLED, .count = 2,
		.timed = 2, .total_ns = 900, .max_ns = 500, .sum = {[HANDLED_ZERO_NS] = 300});
	view_report(&f);
	t = view_table_of(&f, "faults");
	assert_int_equal(cell_at(t, 0, "total_ns")->u, 900);
	assert_int_equal(cell_at(t, 0, "zero_ns")->u, 300);
	f.of->reset(f.view);
	view_close(&f);
	/* the allocator may zero, where nothing is hooked: that is not no time */
	open_view(&f, &(struct view_options){});
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_HANDLED, .count = 2,
		.timed = 2, .total_ns = 900, .max_ns = 500);
	view_report(&f);
	assert_int_equal(cell_at(view_table_of(&f, "faults"), 0, "zero_ns")->type, CELL_EMPTY);
	view_close(&f);
}

static void test_collapses(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_COLLAPSE, .result = 1,
		.count = 2);
	FEED(&f, struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = THP_SCAN, .result = 99,
		.flags = THP_FILE, .count = 5);
	view_report(&f);
	t = view_table_of(&f, "collapses");
	assert_int_equal(t->n_rows, 2);
	assert_string_equal(cell_at(t, 0, "result")->text, "succeeded");
	assert_string_equal(cell_at(t, 0, "step")->text, "collapse");
	assert_string_equal(cell_at(t, 0, "memory")->text, "anonymous");
	assert_string_equal(cell_at(t, 1, "result")->text, "99"); /* a name that nobody sent */
	assert_string_equal(cell_at(t, 1, "memory")->text, "file");
	assert_int_equal(view_table_of(&f, "faults")->n_rows, 0);
	view_close(&f);
}

static void test_values(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_value(&f, THP_SETTING, "defrag", 0, "always");
	put_value(&f, THP_SETTING, "defrag", 0, "madvise");
	put_value(&f, THP_VMSTAT, "thp_fault_alloc", 100, "");
	put_value(&f, THP_VMSTAT, "thp_fault_alloc", 103, "");
	put_value(&f, THP_VMSTAT, "thp_split_pmd", 8, "");
	put_value(&f, THP_SIZE, "64kB/nr_anon", 10, "");
	put_value(&f, THP_SIZE, "64kB/nr_anon", 4, "");
	view_report(&f);
	t = view_table_of(&f, "settings");
	assert_int_equal(t->n_rows, 1);
	assert_string_equal(cell_at(t, 0, "value")->text, "madvise");
	t = view_table_of(&f, "counters");
	assert_int_equal(t->n_rows, 1); /* only what rose */
	assert_int_equal(cell_at(t, 0, "count")->u, 3);
	assert_int_equal(cell_at(t, 0, "boot_total")->u, 103);
	t = view_table_of(&f, "mthp");
	assert_string_equal(cell_at(t, 0, "size")->text, "64kB");
	assert_int_equal(cell_at(t, 0, "count")->s, -6);
	view_close(&f);
}

static void test_symptoms(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_value(&f, THP_SETTING, "enabled", 0, "always");
	put_value(&f, THP_SETTING, "khugepaged/max_ptes_none", 511, "");
	FEED(&f, struct thp_process, REC_THP_PROCESS, .tgid = 7, .comm = "busy",
		.rss_bytes = 200 * MIB, .anon_huge_bytes = 190 * MIB, .waste_bytes = 180 * MIB,
		.sampled = 64, .candidates = 95, .exact = 1);
	view_report(&f);
	t = view_table_of(&f, "symptoms");
	assert_int_equal(t->n_rows, 3);
	assert_string_equal(cell_at(t, 0, "seen")->text, "no");
	assert_string_equal(cell_at(t, 1, "seen")->text, "no");
	assert_string_equal(cell_at(t, 2, "seen")->text, "yes");
	assert_string_equal(cell_at(t, 2, "now")->text, "always");
	assert_string_equal(cell_at(t, 2, "to")->text, "madvise");
	assert_int_equal(f.report.findings.n, 1);
	assert_string_equal(f.report.findings.v[0].rule, "thp-bloat");
	t = view_table_of(&f, "resident");
	assert_int_equal(cell_at(t, 0, "waste_bytes")->u, 180 * MIB);
	assert_true(cell_at(t, 0, "huge_ratio")->f == 0.95);
	view_close(&f);
}

/* What was not looked at is unknown, never no. */
static void test_unknown(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	view_open(&f, &thp_view, &(struct view_options){}, "thp");
	view_report(&f);
	t = view_table_of(&f, "symptoms");
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(cell_at(t, i, "seen")->text, "unknown");
	assert_int_equal(f.report.findings.n, 0);
	view_close(&f);
}

static void test_each(void **state)
{
	struct fixture f;
	struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.each = true, .min_ns = 50});
	FEED(&f, struct thp_event, REC_THP_EVENT, .tgid = 7, .tid = 8, .kind = THP_COMPACT,
		.ns = 60, .comm = "busy");
	FEED(&f, struct thp_event, REC_THP_EVENT, .tgid = 7, .kind = THP_COMPACT, .ns = 40);
	FEED(&f, struct thp_event, REC_THP_EVENT, .tgid = 7, .kind = 222, .ns = 90);
	t = f.of->each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_string_equal(cell_at(t, 0, "event")->text, "compaction");
	assert_int_equal(cell_at(t, 0, "duration_ns")->u, 60);
	assert_int_equal(f.of->each(f.view, &f.report)->n_rows, 0);
	view_close(&f);
}

static void test_waste(void **state)
{
	const double half[] = {0.5, 0.5, 0.5, 0.5}, mixed[] = {0, 1, 0, 1};
	struct waste w = {};

	(void)state;
	waste_compute(half, 4, 100, 100 * 2 * MIB, &w);
	assert_int_equal(w.waste_bytes, 100 * MIB);
	assert_int_equal(w.error_bytes, 0);
	waste_compute(mixed, 4, 100, 100 * 2 * MIB, &w);
	assert_int_equal(w.waste_bytes, 100 * MIB);
	/* 2 * sqrt(1/3 / 4 * (1 - 4/100)) of 200 MiB: 113.1 MiB */
	assert_int_equal(w.error_bytes / MIB, 113);
	waste_compute(mixed, 4, 4, 4 * 2 * MIB, &w); /* all were read: no error */
	assert_int_equal(w.error_bytes, 0);
	assert_int_equal(w.sampled, 4);
	waste_compute(half, 1, 4, 4 * 2 * MIB, &w); /* one alone: anything may be true */
	assert_int_equal(w.error_bytes, 8 * MIB);
	waste_compute(half, 1, 1, 2 * MIB, &w);
	assert_int_equal(w.error_bytes, 0);
}

static void test_words(void **state)
{
	(void)state;
	assert_non_null(strstr(thp_setting_meaning("defrag", "defer+madvise"), "as defer"));
	assert_non_null(thp_setting_meaning("hugepages-64kB/enabled", "inherit"));
	assert_non_null(thp_setting_meaning("khugepaged/max_ptes_none", "64"));
	assert_null(thp_setting_meaning("something/new", "1"));
}

/* What a process has is known until it ends, also where it did not change in an interval. */
static void test_ended(void **state)
{
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	FEED(&f, struct thp_process, REC_THP_PROCESS, .tgid = 7, .anon_huge_bytes = MIB);
	FEED(&f, struct thp_process, REC_THP_PROCESS, .tgid = 8, .anon_huge_bytes = MIB);
	view_next(&f);
	FEED(&f, struct rec_task, REC_TASK, .h.flags = TASK_OVER, .tgid = 8);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "resident")->n_rows, 2);
	view_next(&f);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "resident")->n_rows, 1);
	assert_int_equal(cell_at(view_table_of(&f, "resident"), 0, "pid")->u, 7);
	view_close(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_collapses),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_symptoms),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_waste),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
