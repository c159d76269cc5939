/*
 * The rules of numa's verdicts of hint faults, one by one: groups are filled by hand with what the
 * faults told, so that each test changes one piece of evidence. numa_hint_test.c has the whole.
 */
#include <math.h>

#include "probes/numa/numa_trace.h"

#define FAULTS 2000

/* Windows of 100 faults each, of which so many were of pages another node had before. */
static struct numa_clusters clusters(const double *crossed, u64 n)
{
	struct numa_clusters c = {.n = n};

	for (u64 i = 0; i < n; i++) {
		c.hits += crossed[i];
		c.of += 100;
		c.hits_hits += crossed[i] * crossed[i];
		c.hits_of += crossed[i] * 100;
		c.of_of += 100 * 100;
	}
	return c;
}

#define WINDOWS(...)                            \
	clusters((const double[]){__VA_ARGS__}, \
		sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* Two nodes use all of it at the same time, each page was seen four times, half was remote. */
static struct numa_group shared(void)
{
	struct numa_group g = {
		.site = {.kind = OBJECT_ANON, .stack = 5},
		.n = 1,
		.bytes = 500 * 4096,
		.threads = 2,
		.shared_objects = 1,
		.sums = {.samples = FAULTS,
			.judged_samples = FAULTS,
			.hint_samples = FAULTS,
			.remote_samples = FAULTS / 2,
			.accesses = FAULTS,
			.local = FAULTS / 2,
			.remote = FAULTS / 2,
			.from = {FAULTS / 2, FAULTS / 2},
			.to = {FAULTS / 2, FAULTS / 2},
			.remote_from = {FAULTS / 4, FAULTS / 4}},
		.hints = {.samples = FAULTS,
			.pages = FAULTS / 4,
			.laid_samples = FAULTS,
			.laid_remote = FAULTS / 2,
			.window_mixed = 0.4,
			.window_samples = FAULTS,
			.crossings = WINDOWS(40, 55, 48, 60, 37),
			.crossed = 240,
			.crossed_back = 200,
			.together = 0.7},
	};

	for (u32 unit = NUMA_UNIT_PAGE; unit < NUMA_UNITS; unit++)
		g.sharing[unit] = (struct numa_sharing){0.5, FAULTS};
	return g;
}

static struct numa_verdict judge(const struct numa_group *g)
{
	struct numa_group copy = *g;
	struct numa_groups all = {.all = g->sums};
	struct numa_verdict v;
	struct trace t;

	trace_open(&t, 1, 2, 2);
	all.list.v = &copy;
	all.list.n = 1;
	v = numa_judge(t.feed, &all, 0);
	trace_close(&t);
	return v;
}

#define assert_pattern(g, want) \
	assert_string_equal(numa_pattern_name(judge(&(g)).pattern), numa_pattern_name(want))

/* By Student's t: 2.92 of two degrees of freedom, 1.94 of six. */
static void test_bounds(void **state)
{
	struct numa_clusters c = WINDOWS(30, 40, 50);
	double low, high;

	(void)state;
	assert_true(numa_share_bounds(&c, &low, &high));
	/* The standard error of the mean is 10 / sqrt(3). */
	assert_true(fabs(0.4 - low - 2.92 * 0.0577) < 0.005);
	assert_true(fabs(high - 0.4 - 2.92 * 0.0577) < 0.005);
	c = WINDOWS(40, 40, 40, 40, 40, 40, 61);
	assert_true(numa_share_bounds(&c, &low, &high));
	assert_true(fabs(0.43 - low - 1.94 * 0.03) < 0.001);
	c = WINDOWS(0, 0);
	assert_true(numa_share_bounds(&c, &low, &high));
	assert_true(low == 0 && high == 0);
	c = WINDOWS(90);
	assert_false(numa_share_bounds(&c, &low, &high));
	c.n = 3;
	c.of = NUMA_MIN_SHARING - 1;
	assert_false(numa_share_bounds(&c, &low, &high));
}

static void test_shared(void **state)
{
	struct numa_group g = shared();

	(void)state;
	assert_pattern(g, NUMA_CONCURRENT);
	assert_false(judge(&g).used);
	/* Which lines of a page: each node its own. */
	g.sharing[NUMA_UNIT_LINE] = (struct numa_sharing){0.01, FAULTS};
	assert_pattern(g, NUMA_FALSE_PAGE);
}

/* Pages stay with their node, while the nodes use it together: what one walked alone is no matter.
 */
static void test_parted(void **state)
{
	struct numa_group g = shared();

	(void)state;
	g.hints.crossings = WINDOWS(0, 1, 0);
	assert_pattern(g, NUMA_PARTITIONED);
	g.hints.crossings = WINDOWS(0, 0);
	assert_pattern(g, NUMA_PARTITIONED);
	/* They lie where they are used; who merged them was remote, and would be so anywhere. */
	g.placed_remote = g.sums.remote_samples;
	assert_pattern(g, NUMA_NO_PATTERN);
}

/* Neither is sure: most crossings came at one time. */
static void test_unsure(void **state)
{
	struct numa_group g = shared();

	(void)state;
	g.hints.crossings = WINDOWS(0, 2, 80, 0, 1);
	assert_pattern(g, NUMA_UNCLEAR);
	g.hints.pages = FAULTS / 2;
	assert_pattern(g, NUMA_THIN);
	g = shared();
	g.hints.crossings = WINDOWS(50, 50);
	assert_pattern(g, NUMA_THIN);
}

/* Another node takes pages over, for good: they are not shared. */
static void test_taken(void **state)
{
	struct numa_group g = shared();

	(void)state;
	g.hints.crossed_back = 10;
	assert_pattern(g, NUMA_UNCLEAR);
	g.hints.crossed_back = 40;
	assert_pattern(g, NUMA_CONCURRENT);
}

/* Who was first at a page is so again: few faults are remote, of accesses half are. */
static void test_used(void **state)
{
	struct numa_group g = shared();
	struct numa_verdict v;

	(void)state;
	g.sums.remote_samples = g.sums.remote = FAULTS / 10;
	g.sums.local = FAULTS - g.sums.remote;
	g.hints.laid_remote = FAULTS / 10;
	v = judge(&g);
	assert_int_equal(v.pattern, NUMA_CONCURRENT);
	assert_true(v.used);
	assert_true(v.used_ratio == 0.5 && v.remote_ratio < 0.11);
	/* One node has 19 of 20 accesses and pages: there is little to mend. */
	g.sums.from[0] = g.sums.to[0] = FAULTS * 19 / 20;
	g.sums.from[1] = g.sums.to[1] = FAULTS / 20;
	assert_pattern(g, NUMA_NO_PATTERN);
	/* Each node has its pages: that they have half of it each makes nothing remote. */
	g = shared();
	g.sums.remote_samples = g.sums.remote = FAULTS / 10;
	g.sums.local = FAULTS - g.sums.remote;
	g.hints.laid_remote = FAULTS / 10;
	g.hints.crossings = WINDOWS(0, 1, 0);
	assert_pattern(g, NUMA_NO_PATTERN);
}

/* In turns: what few looks have to show, too. */
static void test_turns(void **state)
{
	struct numa_group g = shared();

	(void)state;
	g.hints.window_mixed = 0.05;
	g.hints.together = 0.1;
	g.hints.changes = 3;
	assert_pattern(g, NUMA_ALTERNATING);
	g.hints.pages = FAULTS / 2;
	assert_pattern(g, NUMA_ALTERNATING);
	/* Pages have one user for the most part. */
	g.sharing[NUMA_UNIT_PAGE].mixed = 0.15;
	assert_pattern(g, NUMA_THIN);
	g = shared();
	g.hints.window_mixed = 0.05;
	g.hints.pages = FAULTS / 2;
	g.hints.together = 0.1;
	g.hints.changes = 2; /* to and back */
	assert_pattern(g, NUMA_THIN);
	g.hints.changes = 3;
	g.hints.together = 0.5; /* they run at the same time */
	assert_pattern(g, NUMA_THIN);
}

/* Threads go to other memory in between, and mix less: but they run at the same time. */
static void test_ran(void **state)
{
	struct numa_group g = shared();

	(void)state;
	g.hints.window_mixed = 0.17;
	assert_pattern(g, NUMA_CONCURRENT);
	g.hints.together = 0.1;
	assert_pattern(g, NUMA_UNCLEAR);
	g = shared();
	g.hints.window_mixed = 0.13;
	assert_pattern(g, NUMA_UNCLEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_parted),
		cmocka_unit_test(test_unsure),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_ran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
