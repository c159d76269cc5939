/* Tests of base/answering.h: what answers is opened as without it, by a process of its own; what is
 * known of a file. That nobody waits for a server is tested with one (tests/native/hung.bats). */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/answering.h"
#include "base/util.h"

static char dir[] = "/tmp/answering.XXXXXX";
static pid_t workers[4];
static size_t n_workers, n_left;

static void ran(void *arg, pid_t pid, bool begins)
{
	(void)arg;
	if (!begins) {
		assert_int_equal(pid, workers[n_left++]);
		return;
	}
	assert_true(n_workers < ARRAY_SIZE(workers));
	workers[n_workers++] = pid;
}

static void begin(void)
{
	n_workers = n_left = 0;
	assert_int_equal(answering_begin(&(struct answering_how){.ran = ran}), 0);
}

static void path_is(int fd, const char *name)
{
	char link[64], path[256], want[256];
	ssize_t n;

	assert_true(fd >= 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	snprintf(want, sizeof(want), "%s%s", dir, name);
	n = readlink(link, path, sizeof(path) - 1);
	assert_true(n > 0);
	path[n] = '\0';
	assert_string_equal(path, want);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void reads(int fd)
{
	char text[8];

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static u64 missed(const char *first)
{
	const char *path;
	u64 n = answering_missed(&path);

	if (n)
		assert_string_equal(path, first);
	return n;
}

static void opens(void)
{
	char path[256];
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	snprintf(path, sizeof(path), "%s/file", dir);
	path_is(answering_open(AT_FDCWD, path, 0, 0), "/file");
	path_is(answering_open(at, "file", 0, 0), "/file");
	path_is(answering_open(at, "/link", 0, RESOLVE_IN_ROOT), "/file");
	assert_int_equal(answering_open(at, "link", 0, RESOLVE_NO_SYMLINKS), -ELOOP);
	assert_int_equal(answering_open(AT_FDCWD, "/nowhere/at/all", 0, 0), -ENOENT);
	assert_int_equal(answering_open(AT_FDCWD, path, O_DIRECTORY, 0), -ENOTDIR);
	path_is(answering_open(at, "fifo", 0, 0), "/fifo"); /* and no writer is waited for */
	reads(answering_open_to_read(at, "file", 0));
	reads(answering_open_to_read(at, "/link", RESOLVE_IN_ROOT));
	assert_int_equal(answering_open_to_read(at, "fifo", 0), -ENOTSUP);
	assert_int_equal(answering_open_to_read(AT_FDCWD, dir, 0), -ENOTSUP);
	assert_int_equal(answering_open_to_read(at, "none", 0), -ENOENT);
	close(at);
}

static void test_alone(void **state)
{
	(void)state;
	opens();
}

static void test_asked(void **state)
{
	(void)state;
	begin();
	opens();
	assert_int_equal(n_workers, 1);
	assert_int_equal(missed(""), 0); /* what is not there was answered */
	answering_end();
	opens();
}

static void test_killed(void **state)
{
	(void)state;
	begin();
	path_is(answering_open(AT_FDCWD, dir, 0, 0), "");
	kill(workers[0], SIGKILL);
	for (int i = 0; i < 10000 && !kill(workers[0], 0); i++)
		usleep(1000);
	assert_true(answering_open(AT_FDCWD, dir, 0, 0) < 0);
	path_is(answering_open(AT_FDCWD, dir, 0, 0), "");
	assert_int_equal(n_workers, 2);
	assert_int_equal(n_left, 1);
	answering_end();
}

/* As a file system does that hangs: it does not come back for a while. */
static void test_late(void **state)
{
	(void)state;
	begin();
	path_is(answering_open(AT_FDCWD, dir, 0, 0), "");
	kill(workers[0], SIGSTOP);
	assert_int_equal(answering_open(AT_FDCWD, dir, 0, 0), -ETIMEDOUT);
	assert_int_equal(missed(dir), 1);
	path_is(answering_open(AT_FDCWD, dir, 0, 0), "");
	assert_int_equal(n_workers, 2);
	assert_int_equal(n_left, 1);
	kill(workers[0], SIGCONT); /* its answer is nobody's */
	for (int i = 0; i < 50; i++)
		path_is(answering_open(AT_FDCWD, dir, 0, 0), "");
	assert_int_equal(n_workers, 2);
	answering_end();
}

/* Slow, as a busy host is, but there. */
static void test_slow(void **state)
{
	pid_t child;

	(void)state;
	begin();
	path_is(answering_open(AT_FDCWD, dir, 0, 0), "");
	kill(workers[0], SIGSTOP);
	child = fork();
	if (!child) {
		usleep(500000);
		_exit(kill(workers[0], SIGCONT));
	}
	path_is(answering_open(AT_FDCWD, dir, 0, 0), "");
	waitpid(child, NULL, 0);
	assert_int_equal(n_workers, 1);
	assert_int_equal(missed(""), 0);
	answering_end();
}

static void test_known(void **state)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat known, st;

	(void)state;
	if (!geteuid()) /* so that user and group differ */
		assert_int_equal(fchownat(at, "file", 12, 34, 0), 0);
	assert_int_equal(fstatat(at, "file", &st, 0), 0);
	assert_int_equal(stat_known(at, "file", 0, &known), 0);
	assert_true(known.st_dev == st.st_dev && known.st_ino == st.st_ino);
	assert_int_equal(known.st_mode, st.st_mode);
	assert_int_equal(known.st_uid, st.st_uid);
	assert_int_equal(known.st_blocks, st.st_blocks);
	assert_memory_equal(&known.st_mtim, &st.st_mtim, sizeof(st.st_mtim));
	assert_int_equal(stat_known(at, "link", AT_SYMLINK_NOFOLLOW, &known), 0);
	assert_true(S_ISLNK(known.st_mode));
	assert_int_equal(stat_known(at, "none", 0, &known), -ENOENT);
	close(at);
}

static int room_make(void **state)
{
	int at, fd;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (write(fd, "text", 4) != 4 || symlinkat("file", at, "link") ||
		mkfifoat(at, "fifo", 0600))
		return -1;
	close(fd);
	close(at);
	return 0;
}

static int room_remove(void **state)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	unlinkat(at, "file", 0);
	unlinkat(at, "link", 0);
	unlinkat(at, "fifo", 0);
	close(at);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, room_make, room_remove);
}
