/* While a report is being made the first signal only tells how the session ended, also where it is
 * sent twice at once, as timeout(1) does; one that comes later ends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/signals.h"

static void test_second(void **state)
{
	struct signals s = {.fd = -1};

	(void)state;
	assert_int_equal(signals_open(&s), 0);
	assert_false(signals_end_at_once(&s, false));
	kill(getpid(), SIGCHLD);
	kill(getpid(), SIGUSR1);
	assert_false(signals_end_at_once(&s, false));
	assert_true(!s.came_ns);
	kill(getpid(), SIGTERM);
	assert_false(signals_end_at_once(&s, false));
	assert_true(s.came_ns);
	kill(getpid(), SIGTERM);
	assert_false(signals_end_at_once(&s, false));
	s.came_ns -= NSEC_PER_SEC;
	kill(getpid(), SIGHUP);
	assert_false(signals_end_at_once(&s, true));
	kill(getpid(), SIGINT);
	assert_true(signals_end_at_once(&s, false));
	assert_true(signals_end_at_once(&s, false));
	assert_int_equal(s.again, SIGINT);
	s.again = 0;
	signals_close(&s);
}

static void test_ends(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		struct signals s = {.fd = -1};

		if (!signals_open(&s)) {
			s.came_ns = clock_mono_ns() - NSEC_PER_SEC;
			kill(getpid(), SIGTERM);
			if (signals_end_at_once(&s, false))
				signals_close(&s);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
