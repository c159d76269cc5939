/* The view of compaction: records in, cells and lines out. */
#include "base/clock.h"
#include "probes/compaction/compaction.h"
#include "probes/compaction/compaction_view.h"
#include "view_fixture.h"

static void put_name(struct fixture *f, const char *set, u64 value, const char *name)
{
	struct rec_enum e = {.h = {sizeof(e), REC_ENUM, 0, 0}, .value = value};

	snprintf(e.set, sizeof(e.set), "%s", set);
	snprintf(e.name, sizeof(e.name), "%s", name);
	view_feed(f, &e);
}

/* Results as another kernel may number them. */
static void open_view(struct fixture *f, const struct view_options *o)
{
	struct rec_session session = {
		.h = {sizeof(session), REC_SESSION, 0, NSEC_PER_SEC}, .scope = "system-wide"};
	struct rec_task task = {.h = {sizeof(task), REC_TASK, 0, 0}, .tgid = 7, .comm = "victim"};

	view_open(f, &compaction_view, o, "compaction");
	view_feed(f, &session);
	view_feed(f, &task);
	put_name(f, "compact_result", 3, "complete");
	put_name(f, "compact_result", 11, "success");
	put_name(f, "zone", 1, "DMA32");
	put_name(f, "zone", 2, "Normal");
}

static void put_runs(struct fixture *f, u8 kind, s32 order, u8 zone, u8 status, u64 count)
{
	struct compaction_agg r = REC(struct compaction_agg, REC_COMPACTION_AGG, .tgid = 7,
		.kind = kind, .order = order, .zone = zone, .status = status, .count = count,
		.total_ns = 1000 * count, .max_ns = 1000, .cpu_ns = 900 * count,
		.migrate_scanned = 10 * count, .free_scanned = 20 * count, .isolated = 8 * count,
		.migrated = 3 * count, .failed = count, .sync = 1);

	r.hist[10] = (u32)count;
	view_feed(f, &r);
}

static void test_sums(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_runs(&f, COMPACTION_DIRECT, 9, 2, 11, 3);
	put_runs(&f, COMPACTION_DIRECT, 9, 1, 3, 1);
	put_runs(&f, COMPACTION_REQUESTED, COMPACTION_ORDER_ALL, 1, 3, 1);
	view_report(&f);
	t = view_table_of(&f, "compaction");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "comm", "victim");
	assert_cell_text(t, 0, "kind", "direct");
	assert_int_equal(cell_number(t, 0, "count"), 4);
	assert_true(cell_at(t, 0, "success_ratio")->f == 0.75);
	assert_int_equal(cell_number(t, 0, "total_ns"), 4000);
	assert_int_equal(cell_number(t, 0, "cpu_ns"), 3600);
	assert_int_equal(cell_number(t, 0, "migrate_scanned_pages"), 40);
	assert_int_equal(cell_number(t, 0, "free_scanned_pages"), 80);
	assert_int_equal(cell_number(t, 0, "isolated_pages"), 32);
	assert_int_equal(cell_number(t, 0, "migrated_pages"), 12);
	assert_int_equal(cell_number(t, 0, "failed_pages"), 4);
	/* the whole zone: there is no success to be had */
	assert_cell_text(t, 1, "kind", "requested");
	assert_int_equal(cell_at(t, 1, "order")->s, -1);
	assert_int_equal(cell_at(t, 1, "success_ratio")->type, CELL_EMPTY);
	view_close(&f);
}

static void test_by(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.by = "zone,status,mode"});
	put_runs(&f, COMPACTION_DIRECT, 9, 2, 11, 3);
	put_runs(&f, COMPACTION_KCOMPACTD, 4, 2, 11, 1);
	put_runs(&f, COMPACTION_KCOMPACTD, 4, COMPACTION_ZONE_UNKNOWN, 200, 1);
	view_report(&f);
	t = view_table_of(&f, "compaction");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "zone", "Normal");
	assert_cell_text(t, 0, "status", "success");
	assert_cell_text(t, 0, "mode", "sync");
	assert_int_equal(cell_number(t, 0, "count"), 4);
	assert_int_equal(cell_at(t, 1, "zone")->type, CELL_EMPTY);
	assert_cell_text(t, 1, "status", "200");
	view_close(&f);
}

static void test_side_tables(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	view_feed(&f, &REC(struct compaction_attempts, REC_COMPACTION_ATTEMPTS,
			      .kind = COMPACTION_DIRECT, .order = 9, .begun = 10, .stalled = 4,
			      .deferred = 5, .both = 1, .succeeded = 3));
	view_feed(&f, &REC(struct compaction_zone, REC_COMPACTION_ZONE, .zone = 2, .order = 9,
			      .runs = 4, .known = 4, .above_high = 1, .indexed = 2,
			      .index_sum = 1500, .free_sum = 400, .high_sum = 800));
	view_feed(&f, &REC(struct compaction_zone, REC_COMPACTION_ZONE, .node = -1,
			      .zone = COMPACTION_ZONE_UNKNOWN, .order = COMPACTION_ORDER_UNKNOWN,
			      .runs = 1));
	view_feed(&f, &REC(struct compaction_deferrals, REC_COMPACTION_DEFERRALS, .zone = 2,
			      .order = 9, .skipped = 7, .failed = 2, .reset = 1));
	view_feed(&f, &REC(struct compaction_kcompactd, REC_COMPACTION_KCOMPACTD, .node = 1,
			      .wakes = 2, .wakeups = 3, .sleeps = 2, .awake_ns = NSEC_PER_SEC,
			      .max_ns = 900, .cpu_ns = 800));
	view_report(&f);
	t = view_table_of(&f, "direct");
	assert_int_equal(cell_number(t, 0, "attempts"), 10);
	assert_int_equal(cell_number(t, 0, "stalls"), 4);
	assert_int_equal(cell_number(t, 0, "deferred"), 4);
	assert_int_equal(cell_number(t, 0, "succeeded"), 3);
	assert_int_equal(cell_number(t, 0, "failed"), 1);
	t = view_table_of(&f, "zones");
	assert_int_equal(cell_number(t, 0, "free_pages"), 100);
	assert_int_equal(cell_number(t, 0, "high_pages"), 200);
	assert_true(cell_at(t, 0, "above_high_ratio")->f == 0.25);
	assert_true(cell_at(t, 0, "index_permille")->s == 750);
	for (size_t i = 0; i < t->n_cols; i++)
		assert_true((table_cell(t, 1, i)->type == CELL_EMPTY) ==
			    (strcmp(t->cols[i].name, "runs") != 0));
	t = view_table_of(&f, "deferred");
	assert_int_equal(cell_number(t, 0, "deferred"), 7);
	assert_int_equal(cell_number(t, 0, "failed"), 2);
	assert_int_equal(cell_number(t, 0, "reset"), 1);
	t = view_table_of(&f, "kcompactd");
	assert_int_equal(cell_number(t, 0, "wakes"), 2);
	assert_int_equal(cell_number(t, 0, "wakeups"), 3);
	assert_int_equal(cell_number(t, 0, "awake_ns"), NSEC_PER_SEC);
	view_close(&f);
}

static struct compaction_run run_of(u64 ns)
{
	return REC(struct compaction_run, REC_COMPACTION_RUN, .tgid = 7, .tid = 8, .ns = ns,
		.kind = COMPACTION_DIRECT, .zone = 2, .order = 9, .status = 11, .index = 900,
		.free_pages = 5000, .high_pages = 100, .migrate_scanned = 64, .isolated = 32,
		.flags = COMPACTION_STATE | COMPACTION_INDEX | COMPACTION_SCANNED,
		.comm = "a\x1b[31mb");
}

static void test_each(void **state)
{
	struct compaction_run shorter = run_of(500), longer = run_of(2500000);
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.each = true, .min_ns = 1000});
	view_feed(&f, &shorter);
	view_feed(&f, &longer);
	t = f.of->each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "duration_ns"), 2500000);
	assert_cell_text(t, 0, "zone", "Normal");
	assert_cell_text(t, 0, "mode", "async");
	assert_cell_text(t, 0, "status", "success");
	assert_true(cell_at(t, 0, "index_permille")->s == 900);
	assert_int_equal(cell_number(t, 0, "free_pages"), 5000);
	assert_int_equal(cell_number(t, 0, "migrate_scanned_pages"), 64);
	assert_int_equal(cell_at(t, 0, "isolated_pages")->type, CELL_EMPTY);
	assert_int_equal(f.of->each(f.view, &f.report)->n_rows, 0);
	view_close(&f);
}

/* Column by column as compactsnoop prints; a name cannot steer the terminal. */
static void test_look(void **state)
{
	_cleanup_str_ struct str out = {};
	struct compaction_run r = run_of(2500000);
	const struct look *look = &compaction_view.looks[0];
	struct fixture f;

	(void)state;
	assert_string_equal(look->name, "compactsnoop");
	assert_string_equal(look->head, "COMM           PID    NODE ZONE         ORDER MODE   "
					"   LAT(ms)           STATUS");
	open_view(&f, &(struct view_options){.each = true, .look = look});
	view_feed(&f, &r);
	look->lines(f.view, &f.report, &out);
	assert_string_equal(str_get(&out), "a\\x1b[31mb     7      0    ZONE_NORMAL  9     ASYNC   "
					   "    2.500          success\n");
	look->lines(f.view, &f.report, &out);
	assert_int_equal(strlen(str_get(&out)), 81);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_by),
		cmocka_unit_test(test_side_tables),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
