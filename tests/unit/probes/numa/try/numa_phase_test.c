/* The verdict of `numa try`: shares by windows of time, what is noise and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/numa/numa.h"
#include "probes/numa/try/numa_phase.h"

static struct numa_phase phase(const u64 samples[PHASE_WINDOWS], const u64 remote[PHASE_WINDOWS])
{
	struct numa_phase p = {};

	for (int i = 0; i < PHASE_WINDOWS; i++) {
		p.samples[i] = samples[i];
		p.remote[i] = remote[i];
	}
	return p;
}

static void test_fell(void **state)
{
	struct numa_phase a = phase((u64[]){90, 100, 110, 100, 95, 105, 100, 100},
		(u64[]){45, 52, 54, 50, 47, 53, 49, 50});
	struct numa_phase b = phase(
		(u64[]){100, 100, 100, 100, 100, 100, 100, 100}, (u64[]){2, 0, 1, 3, 0, 1, 2, 1});

	(void)state;
	assert_int_equal(numa_phase_compare(&a, &b), NUMA_FELL);
	assert_int_equal(numa_phase_compare(&b, &a), NUMA_ROSE);
	assert_int_equal(numa_phase_compare(&a, &a), NUMA_SAME);
}

/* Bursts that are all remote or all local: 800 samples, but really eight. */
static void test_bursts_are_noise(void **state)
{
	struct numa_phase a = phase((u64[]){100, 100, 100, 100, 100, 100, 100, 100},
		(u64[]){100, 0, 100, 0, 100, 0, 100, 0});
	struct numa_phase b = phase((u64[]){100, 100, 100, 100, 100, 100, 100, 100},
		(u64[]){0, 0, 100, 0, 0, 100, 0, 0});

	(void)state;
	assert_int_equal(numa_phase_compare(&a, &b), NUMA_SAME);
}

static void test_too_few(void **state)
{
	struct numa_phase a = phase((u64[]){100, 100, 100, 100, 100, 100, 100, 100},
		(u64[]){50, 50, 50, 50, 50, 50, 50, 50});
	struct numa_phase few = phase((u64[]){6, 6, 6, 6, 6, 6, 6, 6}, (u64[PHASE_WINDOWS]){0});
	struct numa_phase one = phase((u64[]){4000, 0, 0, 0, 0, 0, 0, 0}, (u64[PHASE_WINDOWS]){0});
	struct numa_phase none = {};

	(void)state;
	assert_int_equal(numa_phase_compare(&a, &few), NUMA_TOO_FEW);
	assert_int_equal(numa_phase_compare(&one, &a), NUMA_TOO_FEW);
	assert_int_equal(numa_phase_compare(&none, &none), NUMA_TOO_FEW);
}

static void test_error_of_windows(void **state)
{
	struct numa_phase a = phase((u64[]){100, 100, 100, 100, 100, 100, 100, 100},
		(u64[]){10, 20, 10, 20, 10, 20, 10, 20});
	double share, variance;

	(void)state;
	assert_true(numa_phase_share(&a, &share, &variance));
	assert_true(share > 0.1499 && share < 0.1501);
	/* of means 10 and 20 %: deviation 5 %, over eight, n / (n - 1) */
	assert_true(variance > 0.0025 / 7 * 0.999 && variance < 0.0025 / 7 * 1.001);
}

/* In place of a session: two samples of the object, one of them remote, and one of other memory. */
static int session_two(
	const struct capture_options *opt, u64 for_ns, struct sink *sink, struct err *err)
{
	struct numa_sample s = {
		.h = {.size = sizeof(s), .kind = REC_NUMA_SAMPLE, .time_ns = clock_mono_ns()}};

	(void)err;
	s.address = 0x1000;
	s.page_node = 1;
	s.latency = 300;
	sink->put(sink, &s.h);
	s.page_node = 0;
	s.address = 0x1fff;
	sink->put(sink, &s.h);
	s.address = 0x2000;
	sink->put(sink, &s.h);
	return opt->each && for_ns ? 0 : -EINVAL;
}

static int session_fails(
	const struct capture_options *opt, u64 for_ns, struct sink *sink, struct err *err)
{
	(void)opt;
	(void)for_ns;
	(void)sink;
	return err_set(err, -EOPNOTSUPP, "not here");
}

static int session_interrupted(
	const struct capture_options *opt, u64 for_ns, struct sink *sink, struct err *err)
{
	(void)opt;
	(void)for_ns;
	(void)sink;
	(void)err;
	return -EINTR;
}

/* The session runs in a process of its own: what came of it comes back. */
static void test_run(void **state)
{
	struct numa_object_pages object = {.start = 0x1000, .end = 0x2000};
	struct capture_options opt = {.each = true};
	struct action_task task = {.capture = &opt, .session = session_two};
	struct numa_phase p = {};
	struct err err = {};

	(void)state;
	assert_int_equal(numa_phase_run(&task, 60 * NSEC_PER_SEC, &object, &p, &err), 0);
	assert_int_equal(numa_phase_samples(&p), 2);
	assert_int_equal(p.remote[0], 1);
	assert_int_equal(p.latency_total, 600);
	task.session = session_fails;
	assert_int_equal(numa_phase_run(&task, 1000, &object, &p, &err), -EOPNOTSUPP);
	assert_string_equal(err.msg, "not here");
	task.session = session_interrupted;
	assert_int_equal(numa_phase_run(&task, 1000, &object, &p, &err), -EINTR);
	assert_string_equal(err.msg, "numa try: interrupted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fell),
		cmocka_unit_test(test_bursts_are_noise),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_error_of_windows),
		cmocka_unit_test(test_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
