/* Files that memwhy is told to write: what may be replaced, what is refused, and that no link is
 * followed. Other users' files need root, and are skipped without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/target.h"

#define OTHER 12345

static char dir[] = "/tmp/memwhy-target-XXXXXX";
static bool replaceable_says;

static bool replaceable(int fd)
{
	(void)fd;
	return replaceable_says;
}

static const char *at(const char *name)
{
	static char paths[4][PATH_MAX];
	static int n;

	n = (n + 1) % 4;
	snprintf(paths[n], PATH_MAX, "%s/%s", dir, name);
	return paths[n];
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_holds(const char *path, const char *want)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	if (!fgets(got, sizeof(got), f))
		got[0] = '\0';
	fclose(f);
	assert_string_equal(got, want);
}

static int open_target(const char *path, bool force, bool streams, struct err *err)
{
	struct target t = {.path = path,
		.cannot = "cannot write",
		.force = force,
		.streams = streams,
		.replaceable = replaceable};
	int fd = -1, rc = target_open(&t, &fd, err);

	assert_true((rc < 0) == (fd < 0));
	return rc ? rc : fd;
}

static void assert_refused(const char *path, bool force, bool streams, int code, const char *says)
{
	struct err err = {};

	assert_int_equal(open_target(path, force, streams, &err), code);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.msg, path));
	if (!strstr(err.msg, says))
		fail_msg("'%s' does not say '%s'", err.msg, says);
	assert_true(err.hint[0] || code == -ENOTDIR || code == -ENOENT);
}

/* Opens it, writes a word, and returns how many names the file has. */
static void write_to(const char *path, bool force)
{
	struct err err = {};
	int fd = open_target(path, force, false, &err);
	struct stat st;

	if (fd < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(write(fd, "new", 3), 3);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(st.st_mode & 077, 0);
	close(fd);
	assert_holds(path, "new");
}

static void test_new(void **state)
{
	(void)state;
	umask(0);
	write_to(at("new"), false);
	assert_refused(at("nosuch/x"), false, false, -ENOENT, "No such file");
	assert_refused(at("new/x"), true, false, -ENOTDIR, "Not a directory");
	unlink(at("new"));
}

static void test_replaceable(void **state)
{
	(void)state;
	umask(077);
	put(at("file"), "");
	replaceable_says = false;
	write_to(at("file"), false); /* it was empty */
	assert_refused(at("file"), false, false, -EEXIST, "is not a memwhy recording");
	assert_holds(at("file"), "new");
	put(at("file"), "precious");
	write_to(at("file"), true);
	put(at("file"), "a report");
	replaceable_says = true;
	write_to(at("file"), false);
	unlink(at("file"));
}

static void test_links(void **state)
{
	(void)state;
	replaceable_says = true;
	put(at("precious"), "precious");
	assert_int_equal(symlink("precious", at("link")), 0);
	assert_int_equal(symlink("nosuch", at("dangling")), 0);
	assert_int_equal(link(at("precious"), at("hard")), 0);
	assert_refused(at("link"), false, true, -ELOOP, "symbolic link");
	assert_refused(at("dangling"), false, true, -ELOOP, "symbolic link");
	assert_refused(at("hard"), false, true, -EMLINK, "other names");
	write_to(at("link"), true);
	write_to(at("dangling"), true);
	write_to(at("hard"), true);
	assert_holds(at("precious"), "precious");
	assert_int_equal(access(at("nosuch"), F_OK), -1);
	unlink(at("link"));
	unlink(at("link"));
	unlink(at("dangling"));
	unlink(at("hard"));
	unlink(at("precious"));
}

/* A link to a directory is followed if nobody else made it. */
static void test_linked_directories(void **state)
{
	struct stat st;

	(void)state;
	replaceable_says = true;
	assert_int_equal(mkdir(at("real"), 0700), 0);
	assert_int_equal(symlink("real", at("ours")), 0);
	write_to(at("ours/file"), false);
	assert_int_equal(stat(at("real/file"), &st), 0);
	assert_refused(at("nowhere/file"), false, true, -ENOENT, "No such file");
	assert_refused(at("ours/file/file"), false, true, -ENOTDIR, "Not a directory");
	assert_refused(at("real/"), false, true, -EISDIR, "it is a directory");
	if (!geteuid()) {
		assert_int_equal(symlink("real", at("theirs")), 0);
		assert_int_equal(lchown(at("theirs"), OTHER, OTHER), 0);
		assert_refused(
			at("theirs/new"), false, true, -ELOOP, "symbolic link of user 12345");
		assert_refused(at("theirs/new"), true, true, -ELOOP, "symbolic link of user 12345");
		assert_refused(at("theirs/file"), false, true, -ELOOP, "symbolic link");
		assert_int_equal(access(at("real/new"), F_OK), -1);
		unlink(at("theirs"));
	}
	unlink(at("real/file"));
	unlink(at("ours"));
	rmdir(at("real"));
}

static void test_foreign(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid()) {
		print_message("only root can make files of others\n");
		skip();
	}
	replaceable_says = true;
	put(at("theirs"), "theirs");
	assert_int_equal(chown(at("theirs"), OTHER, OTHER), 0);
	assert_refused(at("theirs"), false, true, -EPERM, "belongs to user 12345");
	assert_holds(at("theirs"), "theirs");
	write_to(at("theirs"), true);
	assert_int_equal(stat(at("theirs"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	unlink(at("theirs"));
	assert_int_equal(mkfifo(at("pipe"), 0666), 0);
	assert_int_equal(chown(at("pipe"), OTHER, OTHER), 0);
	assert_refused(at("pipe"), false, true, -EPERM, "belongs to another user");
	unlink(at("pipe"));
}

static void test_kinds(void **state)
{
	int fd;

	(void)state;
	assert_refused(dir, false, true, -EISDIR, "a directory");
	assert_refused(dir, true, false, -EISDIR, "a directory");
	assert_refused("/dev/null", false, false, -EINVAL, "a device");
	assert_refused("/dev/null", true, false, -EINVAL, "a device");
	fd = open_target("/dev/full", false, true, NULL);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, ENOSPC);
	close(fd);
	if (!geteuid() && !mknod(at("disk"), S_IFBLK | 0600, 0)) {
		assert_refused(at("disk"), true, true, -EINVAL, "a block device");
		unlink(at("disk"));
	}
	assert_int_equal(mkfifo(at("pipe"), 0600), 0);
	assert_refused(at("pipe"), true, false, -EINVAL, "a pipe");
	unlink(at("pipe"));
}

static void *late_reader(void *path)
{
	int fd;
	char c = 0;

	usleep(50000);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, &c, 1) != 1)
		c = '!';
	close(fd);
	return (void *)(uintptr_t)c;
}

static void *late_writer(void *path)
{
	int fd;
	bool done;

	usleep(50000);
	fd = open(path, O_WRONLY);
	done = fd >= 0 && write(fd, "y", 1) == 1;
	close(fd);
	return (void *)(uintptr_t)done;
}

/* The other end of a named pipe is waited for; then reads and writes block as usual. */
static void test_pipe(void **state)
{
	const char *path = at("pipe");
	pthread_t thread;
	void *got;
	char c;
	int fd;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pthread_create(&thread, NULL, late_reader, (void *)path), 0);
	fd = open_target(path, false, true, NULL);
	assert_true(fd >= 0);
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(write(fd, "x", 1), 1);
	pthread_join(thread, &got);
	assert_int_equal((uintptr_t)got, 'x');
	close(fd);
	assert_int_equal(pthread_create(&thread, NULL, late_writer, (void *)path), 0);
	fd = source_open(path);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(c, 'y');
	pthread_join(thread, &got);
	assert_true((uintptr_t)got);
	close(fd);
	unlink(path);
}

/* Nobody at the other end: it ends, and says what to do. */
static void test_pipe_alone(void **state)
{
	const char *path = at("pipe");
	struct err err = {};
	int fd;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, false, true, -ENXIO, "no process reads this pipe");
	fd = source_open(path);
	assert_int_equal(fd, -ETIMEDOUT);
	assert_int_equal(source_failed(path, fd, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.msg, "no process writes to this pipe"));
	unlink(path);
}

static void test_descriptors(void **state)
{
	(void)state;
	assert_int_equal(target_descriptor("-"), 1);
	assert_int_equal(target_descriptor("/dev/stdout"), 1);
	assert_int_equal(target_descriptor("/dev/stderr"), 2);
	assert_int_equal(target_descriptor("/dev/fd/63"), 63);
	assert_int_equal(target_descriptor("/proc/self/fd/7"), 7);
	assert_int_equal(target_descriptor("/dev/fd/../sda"), -1);
	assert_int_equal(target_descriptor("/dev/fd/"), -1);
	assert_int_equal(target_descriptor("/dev/null"), -1);
	assert_int_equal(target_descriptor("report"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_replaceable),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_linked_directories),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_pipe_alone),
		cmocka_unit_test(test_descriptors),
	};
	int rc;

	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(dir))
		return 1;
	rc = cmocka_run_group_tests_name("target", tests, NULL, NULL);
	rmdir(dir);
	return rc;
}
