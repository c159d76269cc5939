/* What the CPUs counted becomes one value, and two values their difference: each part of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "capture/table.h"

/* A value whose parts all differ. */
static struct agg_value agg_of(u64 n)
{
	struct agg_value v = {
		.count = n,
		.timed = n + 1,
		.total_ns = 100 * n,
		.max_ns = 10 * n,
		.cgroup = 1000 + n,
	};

	for (u32 i = 0; i < ARRAY_SIZE(v.sum); i++)
		v.sum[i] = n * (i + 2);
	for (u32 i = 0; i < AGG_SLOTS; i++)
		v.hist[i] = (u32)n * (i + 3);
	snprintf(v.comm, sizeof(v.comm), "comm%llu", n);
	snprintf(v.name, sizeof(v.name), "name%llu", n);
	return v;
}

static void cpus_are_added_up(void **state)
{
	struct agg_value sum = {}, none = {}, a = agg_of(7), b = agg_of(5);

	(void)state;
	table_agg.add(&sum, &none);
	table_agg.add(&sum, &a);
	table_agg.add(&sum, &none);
	table_agg.add(&sum, &b);
	assert_int_equal(sum.count, 12);
	assert_int_equal(sum.timed, 14);
	assert_int_equal(sum.total_ns, 1200);
	assert_int_equal(sum.max_ns, 70);
	for (u32 i = 0; i < ARRAY_SIZE(sum.sum); i++)
		assert_int_equal(sum.sum[i], 12 * (i + 2));
	for (u32 i = 0; i < AGG_SLOTS; i++)
		assert_int_equal(sum.hist[i], 12 * (i + 3));
	/* Of the first that has counted. */
	assert_int_equal(sum.cgroup, 1007);
	assert_string_equal(sum.comm, "comm7");
	assert_string_equal(sum.name, "name7");
}

static void a_drain_is_what_was_added_since(void **state)
{
	struct agg_value v = agg_of(9), last = agg_of(4);

	(void)state;
	table_agg.subtract(&v, &last);
	assert_int_equal(v.count, 5);
	assert_int_equal(v.timed, 5);
	assert_int_equal(v.total_ns, 500);
	assert_int_equal(v.max_ns, 90); /* a maximum has no difference */
	for (u32 i = 0; i < ARRAY_SIZE(v.sum); i++)
		assert_int_equal(v.sum[i], 5 * (i + 2));
	for (u32 i = 0; i < AGG_SLOTS; i++)
		assert_int_equal(v.hist[i], 5 * (i + 3));
}

static void lean_values_too(void **state)
{
	struct sum_value sum = {}, a = {.count = 3, .cgroup = 8, .comm = "a"},
			 b = {.count = 4, .cgroup = 9, .comm = "b"};

	(void)state;
	for (u32 i = 0; i < SUM_SLOTS; i++) {
		a.sum[i] = 10 + i;
		b.sum[i] = 20 + 2 * i;
	}
	table_sum.add(&sum, &a);
	table_sum.add(&sum, &b);
	assert_int_equal(sum.count, 7);
	assert_int_equal(sum.cgroup, 8);
	assert_string_equal(sum.comm, "a");
	for (u32 i = 0; i < SUM_SLOTS; i++)
		assert_int_equal(sum.sum[i], 30 + 3 * i);
	table_sum.subtract(&sum, &b);
	assert_int_equal(sum.count, 3);
	for (u32 i = 0; i < SUM_SLOTS; i++)
		assert_int_equal(sum.sum[i], 10 + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_are_added_up),
		cmocka_unit_test(a_drain_is_what_was_added_since),
		cmocka_unit_test(lean_values_too),
	};

	return cmocka_run_group_tests_name("capture_table", tests, NULL, NULL);
}
