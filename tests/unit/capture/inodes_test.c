/* Tests of the names of files as the walk over inodes sends them: from the file up to the root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/util.h"
#include "capture/inodes.h"

static void path_is(const char *names, size_t n, const char *want)
{
	struct inodes_file f = {.n = (u16)n};
	char path[64];

	memcpy(f.path, names, n);
	inodes_path(&f, path, sizeof(path));
	assert_string_equal(path, want);
}

static void test_path(void **unused)
{
	static const char two[] = "file\0dir\0/", memory[] = "memfd:x";

	(void)unused;
	path_is(two, sizeof(two), "/dir/file");
	path_is(memory, sizeof(memory), "/memfd:x");
	path_is("", 0, "");
	path_is("/", 2, "");
}

/* What does not fit is cut, and nothing is read in front of the names. */
static void test_cut(void **unused)
{
	struct inodes_file f = {.n = INODES_PATH};
	char path[16];

	(void)unused;
	memset(f.path, 'a', sizeof(f.path) - 1);
	inodes_path(&f, path, sizeof(path));
	assert_string_equal(path, "/aaaaaaaaaaaaaa");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests_name("inodes", tests, NULL, NULL);
}
