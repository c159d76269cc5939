/* Profiles on demand. This program is run once more as memwhy is: what it then does goes by the
 * seconds that were asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "cage/filter.h"
#include "serve/profiler.h"

#define ANSWER_MS 20000

enum { QUICK = 1, LONG, STUBBORN, FAILS, SILENT, HUGE };

/* Takes the part of memwhy. */
static int profile_make(const char *seconds)
{
	static char block[1 << 20];

	switch (atoi(seconds)) {
	case QUICK:
		return puts("a profile") < 0;
	case STUBBORN:
		signal(SIGTERM, SIG_IGN);
		break;
	case FAILS:
		fputs("no such heap\n", stderr);
		return 3;
	case SILENT:
		return 3;
	case HUGE:
		memset(block, 'x', sizeof(block));
		for (int i = 0; i < 20; i++)
			if (fwrite(block, sizeof(block), 1, stdout) != 1 || fflush(stdout))
				return 4;
		return 0;
	default:
		break;
	}
	for (;;)
		pause();
}

static int ask(const struct profiler *p, u32 seconds)
{
	const struct profile_ask a = {.kind = 1, .seconds = seconds};
	int fd = -1;

	assert_int_equal(profiler_ask(p, &a, &fd), 0);
	return fd;
}

static bool take(int fd, struct str *out)
{
	struct pollfd f = {.fd = fd, .events = POLLIN};
	bool made;

	str_clear(out);
	assert_int_equal(poll(&f, 1, ANSWER_MS), 1);
	made = profiler_take(fd, out);
	close(fd);
	return made;
}

/* The number of a process with this parent; 0: there is none. */
static pid_t child_of(pid_t parent)
{
	char path[64];
	pid_t pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static pid_t child_await(pid_t parent)
{
	pid_t pid = 0;

	for (int ms = 0; ms < ANSWER_MS && !pid; ms += 5, poll(NULL, 0, 5))
		pid = child_of(parent);
	assert_true(pid);
	return pid;
}

static void end_await(pid_t pid)
{
	for (int ms = 0; ms < ANSWER_MS; ms += 5) {
		if (kill(pid, 0) && errno == ESRCH)
			return;
		poll(NULL, 0, 5);
	}
	fail_msg("process %d does not end", pid);
}

static void test_made(void **state)
{
	_cleanup_str_ struct str out = {};
	struct profiler p;

	(void)state;
	assert_int_equal(profiler_begin(&p), 0);
	for (int i = 0; i < 50; i++) { /* those that have ended are not in the way */
		assert_true(take(ask(&p, QUICK), &out));
		assert_string_equal(str_get(&out), "a profile\n");
	}
	assert_false(take(ask(&p, FAILS), &out));
	assert_string_equal(str_get(&out), "no such heap\n");
	assert_false(take(ask(&p, SILENT), &out));
	assert_non_null(strstr(str_get(&out), "failed without a message"));
	assert_false(take(ask(&p, HUGE), &out)); /* longer than it may be */
	assert_true(out.len < 100);
	assert_false(take(ask(&p, PROFILE_SECONDS_MAX + 1), &out));
	assert_null(strstr(str_get(&out), "already"));
	profiler_end(&p);
}

static void test_busy(void **state)
{
	_cleanup_str_ struct str out = {};
	struct profiler p;
	pid_t worker;
	int a, b;

	(void)state;
	assert_int_equal(profiler_begin(&p), 0);
	a = ask(&p, LONG);
	worker = child_await(p.pid);
	child_await(worker);
	b = ask(&p, LONG);
	assert_false(take(ask(&p, QUICK), &out));
	assert_non_null(strstr(str_get(&out), "2 profiles are already being made"));
	/* Whose maker was killed is told so, and not that others are made. */
	assert_int_equal(kill(worker, SIGKILL), 0);
	assert_false(take(a, &out));
	assert_non_null(strstr(str_get(&out), "has ended"));
	end_await(worker);
	assert_true(take(ask(&p, QUICK), &out));
	close(b);
	profiler_end(&p);
}

/* What does not end when it is told to is killed. */
static void test_stubborn(void **state)
{
	struct profiler p;
	pid_t worker, command;
	int fd;

	(void)state;
	assert_int_equal(profiler_begin(&p), 0);
	fd = ask(&p, STUBBORN);
	worker = child_await(p.pid);
	command = child_await(worker);
	poll(NULL, 0, 300); /* until it ignores the signal */
	close(fd);
	end_await(command);
	end_await(worker);
	profiler_end(&p);
}

/* Where the end of the command cannot be watched, it is ended at once, and whoever asked is told;
 * nobody waits for it. From here on this program has no pidfd_open(). */
static void test_unwatched(void **state)
{
	static const u32 call[] = {SYS_pidfd_open};
	struct filter filter = {.action = FILTER_ALLOW};
	_cleanup_str_ struct str out = {};
	struct profiler p;

	(void)state;
	filter_calls(&filter, FILTER_FAIL(EMFILE), call, ARRAY_SIZE(call));
	assert_int_equal(filter_load(&filter, false), 0);
	assert_int_equal(syscall(SYS_pidfd_open, getpid(), 0), -1);
	assert_int_equal(errno, EMFILE);

	assert_int_equal(profiler_begin(&p), 0);
	for (int i = 0; i < 4; i++) { /* more than are made at once: none stays */
		assert_false(take(ask(&p, i % 2 ? STUBBORN : LONG), &out));
		assert_non_null(strstr(str_get(&out), "could not be started"));
	}
	for (int ms = 0; ms < ANSWER_MS && child_of(p.pid); ms += 5)
		poll(NULL, 0, 5);
	assert_int_equal(child_of(p.pid), 0);
	profiler_end(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made), cmocka_unit_test(test_busy),
		cmocka_unit_test(test_stubborn), cmocka_unit_test(test_unwatched), /* the last */
	};

	if (argc > 5 && !strcmp(argv[0], "memwhy"))
		return profile_make(argv[5]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
