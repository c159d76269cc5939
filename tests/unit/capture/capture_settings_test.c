/* Settings that are changed for a while, in a tree of files made up here: each comes back as it
 * was, but for what somebody else has set meanwhile. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "data/sys/fixture.h"

#include "capture/kernel_settings.h"

#define ONE "/proc/sys/kernel/one"
#define TWO "/proc/sys/kernel/two"
#define SAME "/proc/sys/kernel/same"

static char tree[PATH_MAX];

static int tree_make(void **state)
{
	(void)state;
	fixture_make(tree);
	fixture_put_text(ONE, "1\n");
	fixture_put_text(TWO, "2\n");
	fixture_put_text(SAME, "3\n");
	fixture_put_text("/run/here", ""); /* leases go below it */
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	fixture_remove(tree);
	return 0;
}

/* The kernel's files are one word each; one in a tree keeps what was behind a shorter word. */
static void expect(const char *file, char value)
{
	_cleanup_str_ struct str text = {};
	char path[PATH_MAX];

	assert_int_equal(sys_path(path, "%s", file), 0);
	assert_int_equal(file_read(path, &text), 0);
	assert_int_equal(str_get(&text)[0], value);
}

static struct settings *change(struct setting list[3])
{
	struct settings *s = NULL;
	struct err err = {};

	list[0] = (struct setting){.path = ONE, .value = "7"};
	list[1] = (struct setting){.path = TWO, .value = "8"};
	list[2] = (struct setting){.path = SAME, .value = "3"};
	assert_int_equal(settings_change(list, 3, &s, &err), 0);
	expect(ONE, '7');
	expect(TWO, '8');
	assert_string_equal(list[0].before, "1");
	assert_string_equal(list[1].before, "2");
	return s;
}

static void all_come_back(void **state)
{
	struct setting list[3];

	(void)state;
	settings_restore(change(list));
	expect(ONE, '1');
	expect(TWO, '2');
	expect(SAME, '3');
}

/* Where a setting is as it should be, nothing is written, then or later. */
static void what_is_right_is_left(void **state)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct setting list[3];
	struct stat st;
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(sys_path(path, "%s", SAME), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	settings_restore(change(list));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000);
}

static void what_others_set_stays(void **state)
{
	struct setting list[3];
	struct settings *s = change(list);

	(void)state;
	fixture_put_text(ONE, "5\n");
	fixture_put_text(SAME, "6\n");
	settings_restore(s);
	expect(ONE, '5');
	expect(TWO, '2');
	expect(SAME, '6');
}

/* One that cannot be read: none is changed. One that cannot be written: the first is put back. */
static void all_or_none(void **state)
{
	struct setting list[2] = {
		{.path = ONE, .value = "7"}, {.path = "/proc/none", .value = "1"}};
	struct settings *s = NULL;
	struct err err = {};

	(void)state;
	assert_int_equal(settings_change(list, 2, &s, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/proc/none"));
	expect(ONE, '1');
	if (!geteuid())
		return; /* may write to any file */
	list[1] = (struct setting){.path = TWO, .value = "9"};
	{
		char path[PATH_MAX];

		assert_int_equal(sys_path(path, "%s", TWO), 0);
		assert_int_equal(chmod(path, 0444), 0);
	}
	assert_int_equal(settings_change(list, 2, &s, &err), -EACCES);
	expect(ONE, '1');
	assert_null(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_come_back, tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(what_is_right_is_left, tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(what_others_set_stays, tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(all_or_none, tree_make, tree_remove),
	};

	return cmocka_run_group_tests_name("capture_settings", tests, NULL, NULL);
}
