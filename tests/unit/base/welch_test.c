/* Student's and Welch's test against published and exactly known values, and Holm's correction. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"
#include "base/welch.h"

static void assert_near(double value, double want, double error)
{
	if (fabs(value - want) > error)
		fail_msg("%.12g, not %.12g", value, want);
}

static struct sample sample_of(const double *values, size_t n)
{
	struct sample s = {};

	for (size_t i = 0; i < n; i++)
		sample_add(&s, (long double)values[i]);
	return s;
}

/* The tables of every textbook: t that is exceeded on both sides with this chance. */
static void student_tables(void **state)
{
	static const struct {
		double f, t, p;
	} known[] = {
		{1, 12.706, 0.05},
		{1, 63.657, 0.01},
		{2, 4.303, 0.05},
		{2, 9.925, 0.01},
		{3, 3.182, 0.05},
		{4, 2.776, 0.05},
		{4, 4.604, 0.01},
		{4, 8.610, 0.001},
		{5, 4.032, 0.01},
		{8, 3.355, 0.01},
		{10, 2.228, 0.05},
		{30, 2.750, 0.01},
		{120, 1.980, 0.05},
		{1e7, 1.959964, 0.05},
		{1e7, 2.575829, 0.01},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_near(student_p(known[i].t, known[i].f), known[i].p, known[i].p * 2e-3);
}

/* With one and two degrees of freedom there are closed forms. */
static void student_exactly(void **state)
{
	(void)state;
	for (double t = 0; t < 1000; t = t * 1.5 + 0.01) {
		assert_near(student_p(t, 1), 1 - 2 / M_PI * atan(t), 1e-12);
		assert_near(student_p(t, 2), 1 - t / sqrt(2 + t * t), 1e-12);
		assert_near(student_p(-t, 7.5), student_p(t, 7.5), 0);
	}
	assert_near(student_p(0, 3), 1, 0);
	assert_near(student_p((double)INFINITY, 3), 0, 0);
}

/* B. L. Welch's test: f is 4 where both are alike, and t is sqrt(13.5). */
static void welch_small(void **state)
{
	struct sample a = sample_of((double[]){1, 2, 3}, 3), b = sample_of((double[]){4, 5, 6}, 3);

	(void)state;
	assert_near(welch_p(&a, &b), student_p(sqrt(13.5), 4), 1e-12);
	assert_near(welch_p(&a, &b), 0.021311641128757, 1e-12);
	assert_near(welch_p(&b, &a), welch_p(&a, &b), 0);
	assert_near(welch_p(&a, &a), 1, 1e-12);
}

/* Unequal variances and numbers: t = 9.5 / 4 and f = 2.9..., worked out by hand. */
static void welch_unequal(void **state)
{
	struct sample a = sample_of((double[]){10, 12}, 2);
	struct sample b = sample_of((double[]){14, 18, 22, 28}, 4);
	double va = 2.0 / 2, vb = 107.0 / 3 / 4; /* 35.67: of 14, 18, 22, 28 around 20.5 */

	(void)state;
	assert_near((double)sample_variance(&a), 2, 1e-12);
	assert_near((double)sample_variance(&b), 107.0 / 3, 1e-12);
	assert_near(welch_p(&a, &b),
		student_p(9.5 / sqrt(va + vb), (va + vb) * (va + vb) / (va * va / 1 + vb * vb / 3)),
		1e-12);
}

static void welch_of_one(void **state)
{
	struct sample a = sample_of((double[]){1, 2, 3}, 3), b = sample_of((double[]){8}, 1);
	struct sample none = {};

	(void)state;
	/* 6 / (1 sqrt(1 + 1/3)), two degrees of freedom */
	assert_near(welch_p(&a, &b), student_p(6 / sqrt(4.0 / 3), 2), 1e-12);
	assert_near(welch_p(&b, &a), welch_p(&a, &b), 1e-12);
	assert_true(welch_p(&b, &b) < 0);
	assert_true(welch_p(&a, &none) < 0);
	assert_true(welch_p(&none, &none) < 0);
}

static void what_never_varies(void **state)
{
	struct sample a = sample_of((double[]){7, 7, 7}, 3), b = sample_of((double[]){8, 8}, 2);
	struct sample c = sample_of((double[]){7}, 1);

	(void)state;
	assert_near(welch_p(&a, &b), 0, 0);
	assert_near(welch_p(&a, &c), 1, 0);
	assert_near(welch_p(&b, &c), 0, 0);
}

/* Small differences of large numbers are not lost. */
static void large_numbers(void **state)
{
	struct sample a = {}, b = {};

	(void)state;
	for (int i = 0; i < 3; i++) {
		sample_add(&a, 0x1p60L + 1 + i);
		sample_add(&b, 0x1p60L + 4 + i);
	}
	assert_near(welch_p(&a, &b), 0.021311641128757, 1e-9);
}

/* Of samples of one distribution one in twenty has p < 0.05: the test is calibrated. */
static void false_alarms(void **state)
{
	u64 x = 88172645463325252ULL;
	int below = 0, rounds = 20000;

	(void)state;
	for (int i = 0; i < rounds; i++) {
		struct sample s[2] = {};

		for (int k = 0; k < 10; k++) {
			double sum = 0;

			for (int j = 0; j < 12; j++) { /* nearly normal */
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				sum += (double)(x >> 11) * 0x1p-53;
			}
			sample_add(&s[k % 2], (long double)sum);
		}
		below += welch_p(&s[0], &s[1]) < 0.05;
	}
	assert_in_range(below, rounds * 40 / 1000, rounds * 55 / 1000);
}

static void holm(void **state)
{
	double p[] = {0.005, 0.01, 0.03, 0.04}, one[] = {0.7, 0.8};

	(void)state;
	holm_adjust(p, 4);
	assert_near(p[0], 0.02, 1e-12);
	assert_near(p[1], 0.03, 1e-12);
	assert_near(p[2], 0.06, 1e-12);
	assert_near(p[3], 0.06, 1e-12); /* never less than the one before */
	holm_adjust(one, 2);
	assert_near(one[0], 1, 0);
	assert_near(one[1], 1, 0);
	holm_adjust(p, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_tables),
		cmocka_unit_test(student_exactly),
		cmocka_unit_test(welch_small),
		cmocka_unit_test(welch_unequal),
		cmocka_unit_test(welch_of_one),
		cmocka_unit_test(what_never_varies),
		cmocka_unit_test(large_numbers),
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(holm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
