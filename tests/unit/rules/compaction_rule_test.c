/* The rule on compaction: it speaks when it should, and stays silent else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/compaction/compaction.h"
#include "rules/facts.h"
#include "rules/rules.h"
#include "view_fixture.h"

static void put_name(struct fixture *f, const char *set, u64 value, const char *name)
{
	struct rec_enum e = {.h = {sizeof(e), REC_ENUM, 0, 0}, .value = value};

	snprintf(e.set, sizeof(e.set), "%s", set);
	snprintf(e.name, sizeof(e.name), "%s", name);
	view_feed(f, &e);
}

static void put_value(struct fixture *f, const char *name, u64 v, const char *text)
{
	struct system_value r = {.h = {sizeof(r), REC_SYSTEM_VALUE, 0, NSEC_PER_SEC}, .value = v};

	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.text, sizeof(r.text), "%s", text);
	view_feed(f, &r);
}

static void begin(struct fixture *f)
{
	struct rec_session session = {.h = {sizeof(session), REC_SESSION, 0, NSEC_PER_SEC}};
	struct rec_task task = {.h = {sizeof(task), REC_TASK, 0, 0}, .tgid = 7, .comm = "nightly"};

	view_open(f, &rule_compaction, &(struct view_options){}, "check");
	view_feed(f, &session);
	view_feed(f, &task);
	put_name(f, "compact_result", 5, "complete");
	put_name(f, "compact_result", 8, "success");
	put_name(f, "zone", 2, "Normal");
}

/* Ends ten seconds; returns how many findings there are. */
static size_t conclude(struct fixture *f)
{
	struct rec_tick end = {.h = {sizeof(end), REC_END, 0, 11 * NSEC_PER_SEC}};

	view_feed(f, &end);
	view_report(f);
	return f->report.findings.n;
}

static const struct finding *only(struct fixture *f)
{
	assert_int_equal(conclude(f), 1);
	return &f->report.findings.v[0];
}

static bool says(const char *const lines[FINDING_LINES], const char *text)
{
	for (int i = 0; i < FINDING_LINES && lines[i]; i++)
		if (strstr(lines[i], text))
			return true;
	return false;
}

static void put_runs(
	struct fixture *f, u8 kind, s32 order, u8 status, u64 count, u64 total_ns, u64 cpu_ns)
{
	view_feed(f, &REC(struct compaction_agg, REC_COMPACTION_AGG, .tgid = 7, .kind = kind,
			     .zone = 2, .order = order, .status = status, .count = count,
			     .total_ns = total_ns, .cpu_ns = cpu_ns));
}

static void put_zone(struct fixture *f, s32 order, u64 known, u64 above_high, u64 free, u64 high)
{
	view_feed(f, &REC(struct compaction_zone, REC_COMPACTION_ZONE, .zone = 2, .order = order,
			     .runs = known, .known = known, .above_high = above_high,
			     .free_sum = free * known, .high_sum = high * known));
}

/* kcompactd on a CPU for three of ten seconds, mostly in vain. */
static void test_kcompactd(void **state)
{
	const struct finding *x;
	struct fixture f;

	(void)state;
	begin(&f);
	put_value(&f, "thp/defrag", 0, "defer+madvise");
	put_runs(&f, COMPACTION_KCOMPACTD, 9, 5, 10, 4 * NSEC_PER_SEC, 3 * NSEC_PER_SEC);
	put_runs(&f, COMPACTION_KCOMPACTD, 9, 8, 5, 100, 100);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_string_equal(x->rule, "compaction-background");
	assert_string_equal(x->title, "kcompactd compacts memory: 30 % of a CPU");
	assert_true(says(x->evidence, "15 runs took 4.00 s, 3.00 s of it on a CPU"));
	assert_true(says(x->evidence, "5 of 15 runs for an order made a free block"));
	assert_true(says(x->try_, "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag"));
	assert_true(says(x->undo, "echo defer+madvise > "));
	assert_true(says(x->verify, "memwhy compaction"));
	view_close(&f);
}

/* What each other kind is told to change, with the present value. */
static void test_kinds(void **state)
{
	static const struct {
		u8 kind;
		const char *try, *undo;
	} cases[] = {
		{COMPACTION_PROACTIVE, "vm.compaction_proactiveness=10",
			"vm.compaction_proactiveness=20"},
		{COMPACTION_KHUGEPAGED, "echo 0 > /sys/kernel/mm/transparent_hugepage/khugepaged",
			"echo 1 > "},
		{COMPACTION_REQUESTED, "nightly (pid 7)", "Nothing"},
		{COMPACTION_KCOMPACTD, "vm.extfrag_threshold=1000", "vm.extfrag_threshold=500"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *x;
		struct fixture f;

		begin(&f);
		put_value(&f, "vm.compaction_proactiveness", 20, "");
		put_value(&f, "vm.extfrag_threshold", 500, "");
		put_value(&f, "vm.compact_unevictable_allowed", 1, "");
		put_value(&f, "thp/khugepaged/defrag", 1, "");
		put_runs(&f, cases[i].kind, 9, 8, 5, NSEC_PER_SEC, NSEC_PER_SEC);
		x = only(&f);
		assert_int_equal(x->level, LEVEL_RISK); /* 10 % */
		assert_true(says(x->try_, cases[i].try));
		assert_true(says(x->undo, cases[i].undo));
		view_close(&f);
	}
}

/* Memory is free and in pieces; or it is short, which is another trouble. */
static void test_failing(void **state)
{
	const struct finding *x;
	struct fixture f;

	(void)state;
	begin(&f);
	put_value(&f, "vm.compact_unevictable_allowed", 0, "");
	put_runs(&f, COMPACTION_DIRECT, 9, 5, 30, NSEC_PER_SEC / 10, 0);
	put_runs(&f, COMPACTION_DIRECT, 9, 8, 1, 100, 0);
	put_zone(&f, 9, 31, 31, 5000, 100);
	view_feed(&f, &REC(struct compaction_deferrals, REC_COMPACTION_DEFERRALS, .zone = 2,
			      .order = 9, .skipped = 64));
	x = only(&f);
	assert_string_equal(x->title, "Compaction of node 0 zone Normal for order 9 achieves "
				      "nothing: 30 of 31 runs failed");
	assert_true(says(x->evidence, "5000 pages were free"));
	assert_true(says(x->evidence, "fragmented"));
	assert_true(says(x->evidence, "64 more were deferred"));
	assert_true(says(x->try_, "vm.compact_unevictable_allowed=1"));
	assert_true(says(x->undo, "vm.compact_unevictable_allowed=0"));
	view_close(&f);

	begin(&f);
	put_runs(&f, COMPACTION_DIRECT, 2, 5, 30, NSEC_PER_SEC / 10, 0);
	put_zone(&f, 2, 30, 0, 90, 100);
	x = only(&f);
	assert_true(says(x->evidence, "memory is short"));
	assert_true(says(x->try_, "memwhy reclaim"));
	view_close(&f);
}

/* Tasks that compact for themselves, with success; few runs; a whole zone; short ones. */
static void test_silence(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_runs(&f, COMPACTION_DIRECT, 9, 8, 100, 5 * NSEC_PER_SEC, 5 * NSEC_PER_SEC);
	put_runs(&f, COMPACTION_DIRECT, 4, 5, 19, NSEC_PER_SEC, NSEC_PER_SEC);
	put_runs(&f, COMPACTION_DIRECT, 5, 5, 50, 1000, 1000);
	put_runs(&f, COMPACTION_REQUESTED, COMPACTION_ORDER_ALL, 5, 50, NSEC_PER_SEC / 10, 1);
	put_runs(&f, 200, 9, 200, 1, 1, 1);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kcompactd),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
