/* The sizes of ftrace's ring buffers, as the kernel prints them. */
#include "data/sys/fixture.h"

#include "sys/trace_buffers.h"

static void sizes(void **state)
{
	(void)state;
	assert_int_equal(trace_buffer_size_parse("1408\n"), 1408 << 10);
	/* not taken yet: it has what is least */
	assert_int_equal(trace_buffer_size_parse("7 (expanded: 1408)\n"), 7 << 10);
	assert_int_equal(trace_buffer_size_parse("X\n"), 0); /* CPUs differ */
	assert_int_equal(trace_buffer_size_parse(""), 0);
	assert_int_equal(trace_buffer_size_parse("-1\n"), 0);
	assert_int_equal(trace_buffer_size_parse(" 5\n"), 0);
	assert_int_equal(trace_buffer_size_parse("99999999999999999999\n"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
