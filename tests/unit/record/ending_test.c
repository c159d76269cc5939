/* The end of the processes of -p: told as it happens, of each once, and true only of all of them.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/ending.h"

static u32 child(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return (u32)pid;
}

static bool told(const struct ending *e, int wait_ms)
{
	return poll(&(struct pollfd){ending_fd(e), POLLIN, 0}, 1, wait_ms) == 1;
}

/* Whether or not its parent has asked for its status; and in no order. */
static void all_have_to_end(void **state)
{
	u32 pids[3] = {child(), child(), child()};
	struct ending e = {};

	(void)state;
	assert_int_equal(ending_fd(&e), -1);
	assert_false(ending_is_over(&e, pids, 3));
	kill((pid_t)pids[1], SIGKILL);
	assert_false(told(&e, 0)); /* another one is watched */
	kill((pid_t)pids[0], SIGKILL);
	assert_true(told(&e, 20000));
	waitpid((pid_t)pids[1], NULL, 0);
	assert_false(ending_is_over(&e, pids, 3));
	assert_false(told(&e, 0)); /* the last one */
	kill((pid_t)pids[2], SIGKILL);
	assert_true(told(&e, 20000));
	assert_true(ending_is_over(&e, pids, 3));
	assert_int_equal(ending_fd(&e), -1);
	waitpid((pid_t)pids[0], NULL, 0);
	waitpid((pid_t)pids[2], NULL, 0);
}

static void what_has_ended_before_is_over(void **state)
{
	struct ending e = {};
	u32 pid = child();

	(void)state;
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	assert_true(ending_is_over(&e, &pid, 1));
	assert_int_equal(ending_fd(&e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_have_to_end),
		cmocka_unit_test(what_has_ended_before_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
