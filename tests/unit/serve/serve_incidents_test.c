/* Tests of serve/incidents.h: what is listed, what makes room, and that what others put into the
 * directory is not read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "serve/incidents.h"

#define ONE "incident-000001-20261124T124001Z-oom-kill"
#define TWO "incident-000002-20261124T125001Z-stall"
#define OTHER 12345

static char dir[] = "/tmp/incidents.XXXXXX";
static char path[PATH_MAX];

static const char *at(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static struct incident first(void)
{
	struct incident_list l;
	struct incident one;

	assert_int_equal(incidents_list(dir, &l), 0);
	assert_true(l.v.n);
	one = l.v.v[0];
	incident_list_free(&l);
	return one;
}

static int read_it(enum incident_file file, const char *want)
{
	_cleanup_str_ struct str text = {};
	struct incident one = first();
	int rc = incident_read(dir, &one, file, &text);

	if (!rc)
		assert_string_equal(str_get(&text), want);
	else
		assert_int_equal(text.len, 0);
	return rc;
}

static void test_list(void **state)
{
	struct incident_list l;

	(void)state;
	assert_int_equal(incidents_list("/nowhere/at/all", &l), 0);
	assert_int_equal(l.v.n, 0);
	put(TWO ".mw", "recording");
	put(ONE ".mw", "recording");
	put(ONE ".txt", "text");
	put("incident-.mw", "");
	put("incident-000003-yesterday-oom.mw", "");
	put("incident-000003-20261124T124001Z-.mw.part", "");
	assert_int_equal(mkdir(at("incident-000004-20261124T124001Z-oom.mw"), 0700), 0);
	/* The number after this one would be 0, the oldest: the first to be removed. */
	put("incident-18446744073709551615-20261124T124001Z-oom.mw", "");
	assert_int_equal(symlink(ONE ".mw", at("incident-000005-20261124T124001Z-oom.mw")), 0);
	assert_int_equal(incidents_list(dir, &l), 0);
	assert_int_equal(l.v.n, 2);
	assert_int_equal(l.v.v[0].number, 1);
	assert_int_equal(l.v.v[0].time, 1795524001);
	assert_string_equal(l.v.v[0].kind, "oom-kill");
	assert_string_equal(l.v.v[0].name, ONE);
	assert_string_equal(l.v.v[1].kind, "stall");
	assert_int_equal(l.bytes, l.v.v[0].bytes + l.v.v[1].bytes);
	assert_int_equal(l.v.v[0].bytes, 2 * l.v.v[1].bytes); /* with its text */
	incident_list_free(&l);
}

static void test_read(void **state)
{
	(void)state;
	put(ONE ".mw", "recording");
	put(ONE ".txt", "text");
	assert_int_equal(read_it(INCIDENT_TEXT, "text"), 0);
	assert_int_equal(read_it(INCIDENT_RECORDING, "recording"), 0);
	assert_int_equal(read_it(INCIDENT_PAGE, ""), -ENOENT);
	put("secret", "secret");
	assert_int_equal(symlink("secret", at(ONE ".html")), 0);
	assert_int_equal(read_it(INCIDENT_PAGE, ""), -ELOOP);
	unlink(at(ONE ".html"));
	assert_int_equal(mkfifo(at(ONE ".html"), 0600), 0); /* nobody writes to it */
	assert_int_equal(read_it(INCIDENT_PAGE, ""), -EPERM);
	unlink(at(ONE ".html"));
	at("secret");
	assert_int_equal(
		linkat(open(dir, O_PATH | O_CLOEXEC), "secret", AT_FDCWD, at(ONE ".html"), 0), 0);
	assert_int_equal(read_it(INCIDENT_PAGE, ""), -EPERM);
}

static void test_read_of_another(void **state)
{
	(void)state;
	put(ONE ".mw", "recording");
	put(ONE ".txt", "text");
	if (chown(at(ONE ".txt"), OTHER, OTHER))
		skip();
	assert_int_equal(read_it(INCIDENT_TEXT, ""), -EPERM);
}

/* The oldest make room; without space on the disk none goes. */
static void test_begin(void **state)
{
	struct incident_limits limits = {.most = 2, .most_bytes = 1 << 20};
	struct incident made;

	(void)state;
	put(ONE ".mw", "recording");
	put(ONE ".txt", "text");
	put(TWO ".mw", "recording");
	limits.min_free = 1ULL << 60;
	assert_int_equal(incident_begin(dir, &limits, "oom", 4096, &made), -ENOSPC);
	assert_int_equal(first().number, 1);
	limits.min_free = 0;
	assert_int_equal(incident_begin(dir, &limits, "oom", 4096, &made), 0);
	assert_int_equal(made.number, 3);
	assert_string_equal(made.kind, "oom");
	assert_memory_equal(made.name, "incident-000003-20", 18);
	assert_int_equal(first().number, 2);
	assert_int_equal(access(at(ONE ".txt"), F_OK), -1);
	assert_int_equal(incident_begin(dir, &limits, "oom", 4096, &made), 0);
	assert_int_equal(first().number, 2); /* none was written, and so there is room */
	limits.most_bytes = 4096;
	assert_int_equal(incident_begin(dir, &limits, "oom", 4096, &made), 0);
	assert_int_equal(access(at(TWO ".mw"), F_OK), -1);
}

static void test_prepare(void **state)
{
	struct err err = {};
	struct stat st;

	(void)state;
	assert_int_equal(incidents_prepare(at("a/b"), &err), 0);
	assert_int_equal(stat(at("a/b"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	put("file", "");
	assert_true(incidents_prepare(at("file/b"), &err) < 0);
	assert_non_null(strstr(err.msg, "--incidents: cannot write to "));
}

static int room_make(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int room_remove(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, room_make, room_remove)
	const struct CMUnitTest tests[] = {
		TEST(test_list),
		TEST(test_read),
		TEST(test_read_of_another),
		TEST(test_begin),
		TEST(test_prepare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
