/* How a value goes over time: lines, stairs, what fills and stops, sawteeth and noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/shape.h"
#include "base/clock.h"
#include "base/util.h"

#define EVERY_NS (NSEC_PER_SEC / 2)

static enum shape_kind judge(const double v[], size_t n, double *ret_rate)
{
	struct shape s = {};

	for (size_t i = 0; i < n; i++)
		shape_add(&s, 7 * NSEC_PER_SEC + i * EVERY_NS, v[i]);
	return shape_judge(&s, ret_rate);
}

/* Between 0 and 1, always the same ones. */
static double chance(u32 *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (double)(*seed >> 8) / (double)(1u << 24);
}

static void test_rising(void **unused)
{
	double line[24], stairs[24], curve[24], rate;

	(void)unused;
	for (int i = 0; i < 24; i++) {
		line[i] = 10 + i;
		stairs[i] = 10 + 3 * (i / 3);
		curve[i] = 10 + i * i;
	}
	assert_int_equal(judge(line, 24, &rate), SHAPE_RISING);
	assert_true(rate > 1.7 && rate < 2.6); /* 2 a second */
	assert_int_equal(judge(stairs, 24, &rate), SHAPE_RISING);
	assert_int_equal(judge(curve, 24, &rate), SHAPE_RISING);
	assert_int_equal(judge(line, 4, &rate), SHAPE_UNKNOWN);
}

static void test_stops(void **unused)
{
	double fills[24], step[24], falls[24], slows[24], rate;

	(void)unused;
	for (int i = 0; i < 24; i++) {
		fills[i] = 10 + MIN(i, 14);
		step[i] = i < 8 ? 10 : 90;
		falls[i] = 90 - i;
		slows[i] = i < 12 ? 10 * i : 120 + 0.1 * (i - 12);
	}
	assert_int_equal(judge(fills, 24, &rate), SHAPE_FILLED);
	assert_int_equal(judge(step, 24, &rate), SHAPE_FILLED);
	assert_int_equal(judge(falls, 24, &rate), SHAPE_LEVEL);
	assert_int_equal(judge(slows, 24, &rate), SHAPE_FILLED);
}

static void test_sawtooth(void **unused)
{
	double teeth[24], leaking[24], rate;

	(void)unused;
	for (int i = 0; i < 24; i++) {
		teeth[i] = 50 + 10 * (i % 6);
		leaking[i] = teeth[i] + 4 * i;
	}
	assert_int_equal(judge(teeth, 24, &rate), SHAPE_LEVEL);
	assert_int_equal(judge(leaking, 24, &rate), SHAPE_RISING);
	assert_true(rate > 6 && rate < 10); /* 8 a second, whatever its teeth are */
}

/* Of a thousand that go up and down by chance hardly any may be told to rise. */
static void test_noise(void **unused)
{
	int rises = 0, found = 0, drifts = 0;
	u32 seed = 1;
	double rate;

	(void)unused;
	for (int turn = 0; turn < 1000; turn++) {
		double noise[24], leak[24];

		for (int i = 0; i < 24; i++) {
			noise[i] = 100 * chance(&seed);
			leak[i] = noise[i] + 12 * i;
		}
		rises += judge(noise, 24, &rate) == SHAPE_RISING;
		drifts += judge(noise, 24, &rate) == SHAPE_DRIFTS;
		found += judge(leak, 24, &rate) == SHAPE_RISING;
	}
	assert_true(rises <= 1);
	assert_true(drifts <= 20);
	assert_true(found >= 900);
}

/* More samples than are kept: the beginning stays the beginning. */
static void test_long(void **unused)
{
	double rate;
	struct shape s = {};

	(void)unused;
	for (u64 i = 0; i < 5000; i++)
		shape_add(&s, NSEC_PER_SEC + i * EVERY_NS, (double)MIN(i, 1000ULL));
	assert_true(s.n <= SHAPE_SAMPLES);
	assert_true(s.time_ns[0] == NSEC_PER_SEC);
	assert_int_equal(shape_judge(&s, &rate), SHAPE_FILLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rising),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_sawtooth),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
