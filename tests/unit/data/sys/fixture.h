/*
 * What the tests of src/sys share: the captured trees beside this file (one a kernel: 5.10, 6.1
 * and 6.12 from two-node virtual machines with cgroup v2, 6.18 with one node and cgroup v1), and
 * trees made up as a test runs.
 */
#ifndef MEMWHY_TESTS_SYS_FIXTURE_H
#define MEMWHY_TESTS_SYS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "sys/root.h"

static const char *const fixture_kernels[] = {"5.10", "6.1", "6.12", "6.18"};

/* Below this directory, which is where the compiler found this file. */
static inline void fixture_path(char path[PATH_MAX], const char *tree, const char *file)
{
	int n = snprintf(path, PATH_MAX, "%s", __FILE__);
	char *slash = strrchr(path, '/');

	assert_true(n > 0 && n < PATH_MAX && slash);
	snprintf(slash + 1, PATH_MAX - (size_t)(slash + 1 - path), "%s%s", tree, file);
}

/* Points the readers at a captured tree. */
static inline void fixture_use(const char *kernel)
{
	char path[PATH_MAX];

	fixture_path(path, kernel, "");
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(sys_root_set(path), 0);
}

/* The text of a captured file, to be freed. */
static inline char *fixture_text(const char *tree, const char *file)
{
	struct str text = {};
	char path[PATH_MAX];

	fixture_path(path, tree, file);
	assert_int_equal(file_read(path, &text), 0);
	if (!text.buf)
		str_add(&text, "");
	return text.buf;
}

/* An empty tree that the readers are pointed at. fixture_remove() removes it. */
static inline void fixture_make(char path[PATH_MAX])
{
	strcpy(path, "/tmp/memwhy-sys-XXXXXX");
	assert_non_null(mkdtemp(path));
	assert_int_equal(sys_root_set(path), 0);
}

/* Writes a file of the tree in use, and the directories above it. */
static inline void fixture_put(const char *file, const char *text, size_t n)
{
	char path[PATH_MAX];
	FILE *f;

	assert_int_equal(sys_path(path, "%s", file), 0);
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static inline void fixture_put_text(const char *file, const char *text)
{
	fixture_put(file, text, strlen(text));
}

static inline int fixture_unlink(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline void fixture_remove(const char *path)
{
	assert_int_equal(nftw(path, fixture_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
	sys_root_set("");
}

/* For the tests that read this machine: says why one cannot run, and skips it. */
#define fixture_skip(why)                                          \
	do {                                                       \
		print_message("%s: skipped: %s\n", __func__, why); \
		skip();                                            \
	} while (0)

#endif
