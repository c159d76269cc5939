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

#include "record/scope_end.h"

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

static bool told(const struct scope_end *e, int wait_ms)
{
	return poll(&(struct pollfd){e->epoll, POLLIN, 0}, 1, wait_ms) == 1;
}

/* It is over as soon as it has ended, whether or not its parent asked for its status. */
static void all_have_to_end(void **state)
{
	u32 pids[2] = {child(), child()};
	struct scope_end e = {};

	(void)state;
	scope_end_open(&e, pids, 2);
	assert_int_equal(e.n_pidfds, 2);
	assert_false(told(&e, 0));
	assert_false(scope_end_is(&e));
	kill((pid_t)pids[1], SIGKILL);
	assert_true(told(&e, 20000));
	assert_false(scope_end_is(&e));
	assert_false(told(&e, 0)); /* once: the other may go on for long */
	kill((pid_t)pids[0], SIGKILL);
	assert_true(told(&e, 20000));
	assert_true(scope_end_is(&e));
	scope_end_close(&e);
	for (int i = 0; i < 2; i++)
		waitpid((pid_t)pids[i], NULL, 0);
}

static void what_cannot_be_watched_is_asked_for(void **state)
{
	struct scope_end e = {};
	u32 pid = child();

	(void)state;
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	scope_end_open(&e, &pid, 1);
	assert_int_equal(e.n_pidfds, 0);
	assert_true(scope_end_is(&e));
	scope_end_close(&e);
}

static void nothing_never_ends(void **state)
{
	struct scope_end e = {};

	(void)state;
	scope_end_open(&e, NULL, 0);
	assert_false(scope_end_is(&e));
	scope_end_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_have_to_end),
		cmocka_unit_test(what_cannot_be_watched_is_asked_for),
		cmocka_unit_test(nothing_never_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
