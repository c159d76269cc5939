/* What rows had in each part of the time: rows are found again by what they are of, only what adds
 * up is kept, and parts become longer instead of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "render_fixture.h"
#include "report/parts.h"

#define BEGIN_NS (100 * NSEC_PER_SEC)
#define SECONDS(n) (BEGIN_NS + (n)*NSEC_PER_SEC)

static const struct column columns[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, ""},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, ""},
	{"order", "ORDER", CELL_U64, UNIT_COUNT, COL_KEY, ""},
	{"count", "COUNT", CELL_U64, UNIT_COUNT, COL_WEIGHT, ""},
	{"total_ns", "TIME", CELL_U64, UNIT_NS, 0, ""},
	{"max_ns", "MAX", CELL_U64, UNIT_NS, 0, ""},
	{"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL, ""},
};

enum { PID, COMM, ORDER, COUNT, TIME, MAXIMUM, LIVE, N };

static struct stream stream;
static struct parts parts;
static struct report report;
static struct table *table;

static void report_open(void)
{
	report_init(&report, "faults", &stream);
	table = report_table(&report, "faults", "Page faults", columns, N);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(stream_init(&stream), 0);
	assert_int_equal(
		stream_feed(&stream, &(struct rec_session){.h = {sizeof(struct rec_session),
								   REC_SESSION, 0, BEGIN_NS}}
					      .h),
		0);
	parts_init(&parts);
	report_open();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	report_destroy(&report);
	parts_free(&parts);
	stream_destroy(&stream);
	return 0;
}

static void row(u64 pid, const char *comm, u64 order, u64 count, u64 ns)
{
	struct cell *c = table_row(table);

	c[PID] = pid ? cell_u64(pid) : (struct cell){};
	c[COMM] = cell_text(comm);
	c[ORDER] = cell_u64(order);
	c[COUNT] = cell_u64(count);
	c[TIME] = cell_u64(ns);
	c[MAXIMUM] = cell_u64(ns);
	c[LIVE] = cell_u64(4096);
}

/* The rows so far were a part; the next report begins. */
static void part_end(u64 time_ns)
{
	parts_take(&parts, &report, time_ns);
	report_destroy(&report);
	report_open();
}

/* The number of a row in a part, of the column that is the i-th of those that are known. */
static u64 number(size_t row, u64 part, size_t i)
{
	const struct table_parts *p = table->parts;

	for (size_t at = p->first.v[row]; at < p->first.v[row + 1]; at += 1 + p->cols.n)
		if (p->entries.v[at] == part)
			return p->entries.v[at + 1 + i];
	return 0;
}

static void test_rows_are_found_again(void **state)
{
	(void)state;
	row(1, "sh", 0, 5, 50);
	row(1, "sh", 3, 1, 10);
	row(0, "others", 0, 2, 20);
	part_end(SECONDS(1));
	row(2, "ls", 0, 7, 70);
	row(1, "cat", 0, 1, 10); /* another program since */
	part_end(SECONDS(2));
	row(0, "others", 0, 9, 90);
	part_end(SECONDS(3));
	row(0, "others", 0, 11, 110);
	row(2, "ls", 0, 7, 70);
	row(1, "cat", 0, 6, 60);
	row(1, "cat", 3, 1, 10);
	parts_fit(&parts, &report);
	assert_non_null(table->parts);
	assert_int_equal(parts.ends_ns.n, 3);
	assert_true(parts.ends_ns.v[1] == 2 * NSEC_PER_SEC);
	assert_int_equal(table->parts->cols.n, 2); /* neither the longest nor the level */
	assert_int_equal(table->parts->cols.v[0], COUNT);
	assert_int_equal(table->parts->cols.v[1], TIME);
	assert_int_equal(number(0, 0, 0), 2);
	assert_int_equal(number(0, 1, 0), 0);
	assert_int_equal(number(0, 2, 0), 9);
	assert_int_equal(number(1, 1, 1), 70);
	assert_int_equal(number(2, 0, 0), 5);
	assert_int_equal(number(2, 1, 0), 1);
	assert_int_equal(number(3, 0, 1), 10);
}

static void test_a_column_that_does_not_add_up_is_not_known(void **state)
{
	(void)state;
	row(1, "sh", 0, 5, 50);
	part_end(SECONDS(1));
	row(1, "sh", 0, 5, 50);
	part_end(SECONDS(2));
	row(1, "sh", 0, 10, 99);
	parts_fit(&parts, &report);
	assert_non_null(table->parts);
	assert_int_equal(table->parts->cols.n, 1);
	assert_int_equal(table->parts->cols.v[0], COUNT);
}

/* Without the number that is looked at first, and where rows cannot be told apart, nothing is. */
static void test_what_is_not_known_is_not_shown(void **state)
{
	(void)state;
	row(1, "sh", 0, 5, 50);
	part_end(SECONDS(1));
	row(1, "sh", 0, 5, 50);
	part_end(SECONDS(2));
	row(1, "sh", 0, 11, 100);
	parts_fit(&parts, &report);
	assert_null(table->parts);
	teardown(NULL);
	setup(NULL);
	row(1, "sh", 0, 5, 50);
	part_end(SECONDS(1));
	row(1, "sh", 0, 5, 50);
	part_end(SECONDS(2));
	row(1, "sh", 0, 5, 50);
	row(1, "sh", 0, 5, 50);
	parts_fit(&parts, &report);
	assert_null(table->parts);
	teardown(NULL);
	setup(NULL);
	row(1, "sh", 0, 0, 0); /* a level, not more */
	part_end(SECONDS(1));
	part_end(SECONDS(2));
	row(1, "sh", 0, 0, 0);
	parts_fit(&parts, &report);
	assert_null(table->parts);
}

static void test_rows_that_limit_left_out(void **state)
{
	(void)state;
	row(1, "sh", 0, 5, 50);
	row(2, "ls", 0, 1, 10);
	part_end(SECONDS(1));
	row(1, "sh", 0, 5, 50);
	part_end(SECONDS(2));
	row(1, "sh", 0, 10, 100);
	table->n_cut = 1;
	parts_fit(&parts, &report);
	assert_non_null(table->parts);
	assert_int_equal(number(0, 1, 0), 5);
}

static void test_many_parts_become_longer_ones(void **state)
{
	u64 sum = 0, n = 0;

	(void)state;
	assert_false(parts_due(&parts, &stream, BEGIN_NS + NSEC_PER_SEC / 4));
	for (u64 i = 1; i <= 1000; i++) {
		if (!parts_due(&parts, &stream, SECONDS(i)))
			continue;
		row(1, "sh", 0, i, i);
		part_end(SECONDS(i));
		sum += i;
		n++;
	}
	row(1, "sh", 0, sum, sum);
	parts_fit(&parts, &report);
	assert_non_null(table->parts);
	assert_true(parts.ends_ns.n <= PARTS_MOST && parts.ends_ns.n >= PARTS_MOST / 2 && n < 1000);
	for (size_t i = 1; i < parts.ends_ns.n; i++)
		assert_true(parts.ends_ns.v[i] > parts.ends_ns.v[i - 1]);
	for (size_t i = 0; i < parts.ends_ns.n; i++)
		sum -= number(0, i, 0);
	assert_int_equal(sum, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows_are_found_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_column_that_does_not_add_up_is_not_known, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_not_known_is_not_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_that_limit_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_many_parts_become_longer_ones, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
