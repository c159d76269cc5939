/* How often bursts come: under check as the probe says; in a session that lasts an eighth
 * as often, but for those that look nearly all of the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/burst.h"

static unsigned int asked;

static bool never(struct capture *c)
{
	(void)c;
	asked++;
	return false;
}

/* How long it is from one question whether a burst is due to the next. */
static u64 distance(u64 watch_ns, u64 sample_ns, u64 every_ns, u64 length_ns)
{
	const struct probe_bursts spec = {
		.every_ns = every_ns, .length_ns = length_ns, .due = never};
	struct capture c = {.opt = {.watch_ns = watch_ns, .sample_ns = sample_ns}};
	struct burst b = {.spec = &spec, .c = &c, .next_ns = 100 * NSEC_PER_SEC};
	u64 first;

	asked = 0;
	assert_int_equal(burst_step(&b, 99 * NSEC_PER_SEC), 0);
	assert_int_equal(asked, 0); /* not yet */
	assert_int_equal(burst_step(&b, 100 * NSEC_PER_SEC), 0);
	assert_int_equal(asked, 1);
	first = burst_next(&b);
	assert_int_equal(burst_step(&b, first - 1), 0);
	assert_int_equal(asked, 1);
	assert_int_equal(burst_step(&b, first), 0);
	assert_int_equal(asked, 2);
	return first - 100 * NSEC_PER_SEC;
}

static void test_who_watches_sees_less_of_them(void **state)
{
	const u64 s = NSEC_PER_SEC;

	(void)state;
	assert_int_equal(distance(0, 0, s, s / 10), s);          /* check */
	assert_int_equal(distance(s, 0, s, s / 10), 8 * s);      /* top */
	assert_int_equal(distance(0, 10 * s, s, s / 10), 8 * s); /* serve */
	assert_int_equal(distance(s, 0, s, s / 2), s);           /* it looks half of the time */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_watches_sees_less_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
