/* Rows of `faults`: faults whose process is not known stand by its name, without a number. */
#include "probes/faults/faults.h"
#include "probes/faults/faults_view.h"
#include "view_fixture.h"

static void faults(struct fixture *f, u32 tgid, u16 flags, const char *comm, u64 count)
{
	struct faults_agg r = REC(
		struct faults_agg, REC_FAULTS_AGG, .tgid = tgid, .flags = flags, .count = count);

	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	view_feed(f, &r);
}

static void feed_all(struct fixture *f, const char *by)
{
	struct view_options o = {.by = by};

	view_open(f, &faults_view, &o, "faults");
	view_feed(f, &REC(struct rec_task, REC_TASK, .tgid = 7, .comm = "sh"));
	faults(f, 7, 0, "sh", 1);
	faults(f, 0, FAULT_NAMED, "sh", 20);
	faults(f, 0, FAULT_NAMED | FAULT_WRITE, "sh", 100);
	faults(f, 0, FAULT_NAMED, "cc", 3000);
	view_report(f);
}

static void by_process_a_name_is_a_row(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	feed_all(&f, "process");
	t = view_table_of(&f, "faults");
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_cell_text(t, 0, "comm", "sh");
	assert_int_equal(cell_number(t, 0, "count"), 1);
	assert_int_equal(cell_at(t, 1, "pid")->type, CELL_EMPTY);
	assert_cell_text(t, 1, "comm", "sh");
	assert_int_equal(cell_number(t, 1, "count"), 120);
	assert_cell_text(t, 2, "comm", "cc");
	assert_int_equal(cell_number(t, 2, "count"), 3000);
	view_close(&f);
}

static void by_name_it_is_one_with_the_others(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	feed_all(&f, "comm");
	t = view_table_of(&f, "faults");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "comm", "sh");
	assert_int_equal(cell_number(t, 0, "count"), 121);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_process_a_name_is_a_row),
		cmocka_unit_test(by_name_it_is_one_with_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
