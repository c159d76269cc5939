/* The sizes of ftrace's ring buffers, as the kernel prints them. */
#include "data/sys/fixture.h"

#include "sys/kernel/trace_buffers.h"

static void sizes(void **state)
{
	(void)state;
	assert_int_equal(trace_buffer_size_parse("1408\n"), 1408 << 10);
	assert_int_equal(trace_buffer_size_parse("7 (expanded: 1408)\n"), 0); /* not taken yet */
	assert_int_equal(trace_buffer_size_parse("X\n"), 0);                  /* CPUs differ */
	assert_int_equal(trace_buffer_size_parse(""), 0);
	assert_int_equal(trace_buffer_size_parse("-1\n"), 0);
	assert_int_equal(trace_buffer_size_parse(" 5\n"), 0);
	assert_int_equal(trace_buffer_size_parse("99999999999999999999\n"), 0);
}

/* Those that are taken, by the directory that they are found in. */
static void all(void **state)
{
	_cleanup_trace_buffers_ struct trace_buffers t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	assert_int_equal(trace_buffers_read(&t), 0);
	assert_int_equal(t.list.n, 0);
	fixture_put_text("/proc/self/mountinfo",
		"30 22 0:12 / /sys/kernel/tracing rw - tracefs tracefs rw\n");
	fixture_put_text("/sys/kernel/tracing/events/enable", "0\n");
	fixture_put_text("/sys/kernel/tracing/buffer_total_size_kb", "14 (expanded: 2816)\n");
	fixture_put_text("/sys/kernel/tracing/instances/a/buffer_total_size_kb", "2816\n");
	fixture_put_text("/sys/kernel/tracing/instances/a/buffer_size_kb", "1408\n");
	fixture_put_text("/sys/kernel/tracing/instances/a/tracing_on", "1\n");
	fixture_put_text("/sys/kernel/tracing/instances/b/tracing_on", "1\n");
	assert_int_equal(trace_buffers_read(&t), 0);
	assert_true(t.mounted);
	assert_int_equal(t.list.n, 1);
	assert_string_equal(t.list.v[0].instance, "a");
	assert_string_equal(t.list.v[0].directory, "/sys/kernel/tracing/instances/a");
	assert_int_equal(t.list.v[0].bytes, 2816 << 10);
	assert_int_equal(t.list.v[0].cpu_bytes, 1408 << 10);
	assert_true(t.list.v[0].on);
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
