/* Tests of sys/group/pids_limit.h: the group behind the controller, and which limit of the machine
 * it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sys/group/pids_limit.h"

static void test_path(void **state)
{
	char path[PATH_MAX];
	int v2;

	(void)state;
	assert_int_equal(pids_path_parse("3:cpu,pids:/a b\n0::/c\n", path, &v2), 0);
	assert_string_equal(path, "/a b");
	assert_int_equal(v2, 0);
	assert_int_equal(pids_path_parse("3:memory:/a\n0::/c\n", path, &v2), 0);
	assert_string_equal(path, "/c");
	assert_int_equal(v2, 1);
	assert_int_not_equal(pids_path_parse("3:memory:/a\n", path, &v2), 0);
}

/* A number of a task is needed before it counts as a thread; the lower of the two is met first. */
static void test_machine(void **state)
{
	(void)state;
	assert_int_equal(tasks_machine_judge(32400, 190000, 32768), TASKS_PIDS);
	assert_int_equal(tasks_machine_judge(1000, 1000, 32768), TASKS_THREADS);
	assert_int_equal(tasks_machine_judge(960, 1000, 32768), TASKS_THREADS);
	assert_int_equal(tasks_machine_judge(32000, 32000, 32768), TASKS_THREADS);
	assert_int_equal(tasks_machine_judge(800, 1000, 32768), TASKS_NEITHER);
	assert_int_equal(tasks_machine_judge(800, 0, 0), TASKS_NEITHER);
	assert_int_equal(tasks_machine_judge(0, 0, ~0ULL), TASKS_NEITHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path), cmocka_unit_test(test_machine)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
