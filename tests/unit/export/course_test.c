/* Rates of the course over time: what is counted in the kernel and read about once a second, in
 * records that are written over some time. */
#include "view_fixture.h"

#include "base/clock.h"
#include "export/course.h"
#include "probes/faults/faults.h"
#include "probes/stalls/stalls.h"

#define BEGIN_NS (100 * NSEC_PER_SEC)
#define MS(n) (BEGIN_NS + (n)*NSEC_PER_MSEC)

static void fixture_open(struct fixture *f)
{
	view_open(f, &course_view, &(struct view_options){}, "report");
	view_feed(f,
		&(struct rec_session){.h = {sizeof(struct rec_session), REC_SESSION, 0, BEGIN_NS}});
}

static void faults(struct fixture *f, u64 time_ns, u64 n)
{
	view_feed(f,
		&(struct faults_agg){
			.h = {sizeof(struct faults_agg), REC_FAULTS_AGG, 0, time_ns}, .count = n});
}

static void stalls(struct fixture *f, u64 time_ns, u64 ns)
{
	view_feed(f,
		&(struct stalls_agg){.h = {sizeof(struct stalls_agg), REC_STALLS_AGG, 0, time_ns},
			.count = 1,
			.total_ns = ns});
}

static void cost(struct fixture *f, u64 time_ns)
{
	view_feed(f, &(struct rec_cost){.h = {sizeof(struct rec_cost), REC_COST, 0, time_ns}});
}

static void mark(struct fixture *f, u16 kind, u64 time_ns)
{
	view_feed(f, &(struct rec_tick){.h = {sizeof(struct rec_tick), kind, 0, time_ns}});
}

static void stall(struct fixture *f, u64 start_ns, u64 ns)
{
	view_feed(f, &(struct stalls_event){
			     .h = {sizeof(struct stalls_event), REC_STALLS_EVENT, 0, start_ns + ns},
			     .start_ns = start_ns,
			     .ns = ns});
}

/* The value of a series at a time of the recording, in milliseconds; -1: it has none there. */
static double at(const struct fixture *f, const char *series, u64 ms)
{
	const struct table *t = f->report.tables.v[0];
	double value = -1;

	for (size_t i = 0; i < t->n_rows; i++)
		if (!strcmp(table_cell(t, i, 1)->text, series) &&
			table_cell(t, i, 0)->u <= ms * NSEC_PER_MSEC)
			value = table_cell(t, i, 4)->f;
	return value;
}

/* The last row of a series only says where it ends. */
static double sum_of(const struct fixture *f, const char *series)
{
	const struct table *t = f->report.tables.v[0];
	double sum = 0, last = 0;
	u64 last_ns = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		if (strcmp(table_cell(t, i, 1)->text, series) != 0)
			continue;
		sum += last * (double)(table_cell(t, i, 0)->u - last_ns) / NSEC_PER_SEC;
		last = table_cell(t, i, 4)->f;
		last_ns = table_cell(t, i, 0)->u;
	}
	return sum;
}

static void test_one_reading_is_one_rate(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f);
	faults(&f, MS(1000), 600); /* one reading, which takes 150 ms */
	faults(&f, MS(1080), 300);
	faults(&f, MS(1150), 100);
	cost(&f, MS(1160));
	faults(&f, MS(2160), 500);
	cost(&f, MS(2170));
	mark(&f, REC_END, MS(2180));
	view_report(&f);
	assert_true(at(&f, "page faults", 500) > 800 && at(&f, "page faults", 500) < 1000);
	assert_true(at(&f, "page faults", 1500) > 450 && at(&f, "page faults", 1500) < 550);
	assert_true(sum_of(&f, "page faults") > 1499.9 && sum_of(&f, "page faults") < 1500.1);
	view_close(&f);
}

static void test_a_short_end_is_no_peak(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f);
	faults(&f, MS(1000), 1000);
	cost(&f, MS(1010));
	faults(&f, MS(2000), 1000);
	cost(&f, MS(2010));
	faults(&f, MS(2400), 100); /* counted until 2040, and named for long */
	cost(&f, MS(2500));
	mark(&f, REC_END, MS(2040));
	view_report(&f);
	assert_true(at(&f, "page faults", 10000) < 1200);
	assert_true(sum_of(&f, "page faults") > 2099.9 && sum_of(&f, "page faults") < 2100.1);
	view_close(&f);
}

static void test_readings_without_any_are_zero(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f);
	for (u64 i = 1; i < 6; i++) {
		if (i == 2)
			stalls(&f, MS(1000 * i), 30 * NSEC_PER_MSEC);
		faults(&f, MS(1000 * i), 10);
		cost(&f, MS(1000 * i + 10));
	}
	mark(&f, REC_END, MS(5020));
	view_report(&f);
	assert_true(at(&f, "time in stalls", 500) == 0);
	assert_true(at(&f, "time in stalls", 1500) > 28e6 && at(&f, "time in stalls", 1500) < 32e6);
	assert_true(at(&f, "time in stalls", 3500) == 0);
	view_close(&f);
}

static void test_what_was_not_counted_is_not_there(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f);
	faults(&f, MS(1000), 600);
	cost(&f, MS(1010));
	mark(&f, REC_TICK, MS(1000));
	mark(&f, REC_END, MS(1020));
	view_report(&f);
	assert_true(at(&f, "time in stalls", 500) == -1);
	assert_true(at(&f, "page faults", 500) > 550);
	view_close(&f);
}

/* A long stall comes after short ones that began later; nobody waits for more than a second in one.
 */
static void test_a_stall_is_of_the_time_that_it_took(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f);
	stall(&f, MS(900), 40 * NSEC_PER_MSEC);
	stall(&f, MS(100), 1000 * NSEC_PER_MSEC);
	view_report(&f);
	assert_true(at(&f, "time in stalls", 50) == 0);
	assert_true(at(&f, "time in stalls", 500) == 1e9);
	assert_true(at(&f, "time in stalls", 905) == 2e9);
	assert_true(at(&f, "time in stalls", 1050) == 1e9);
	assert_true(
		sum_of(&f, "time in stalls") > 1.039e9 && sum_of(&f, "time in stalls") < 1.041e9);
	view_close(&f);
}

/* A damaged file may have a stall that ends at the end of time. */
static void test_a_stall_without_end(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f);
	stall(&f, MS(100), ~0ULL - MS(100));
	stall(&f, ~0ULL - 5, 100);
	view_report(&f);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_reading_is_one_rate),
		cmocka_unit_test(test_a_short_end_is_no_peak),
		cmocka_unit_test(test_readings_without_any_are_zero),
		cmocka_unit_test(test_what_was_not_counted_is_not_there),
		cmocka_unit_test(test_a_stall_is_of_the_time_that_it_took),
		cmocka_unit_test(test_a_stall_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
