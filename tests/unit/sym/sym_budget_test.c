/* The budget of names: what one user may have of it, what dictionaries may, and that many processes
 * of one user with large perf-PID.map files do not take more than that. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/file.h"
#include "sym/names_budget.h"
#include "sym/perfmap.h"

#define NOBODY 65534U
#define MIB (1ULL << 20)
#define PROCESSES 6

static void test_share_of_a_user(void **state)
{
	struct sym_budget b;
	u32 nobody, root;

	(void)state;
	budget_init(&b, 4 * MIB, 0);
	nobody = budget_user(&b, NOBODY);
	assert_int_equal(budget_take(&b, MIB), 0);
	assert_int_equal(budget_take(&b, 1), -EFBIG);
	root = budget_user(&b, 0);
	assert_int_not_equal(root, nobody);
	assert_int_equal(budget_take(&b, 3 * MIB), 0);
	assert_int_equal(budget_take(&b, 1), -EFBIG);
	budget_give_back(&b, nobody, MIB);
	assert_int_equal(budget_take(&b, MIB), 0);
	assert_int_equal(b.bytes_taken, 4 * MIB);
	assert_int_equal(budget_user(&b, NOBODY), nobody);
	assert_int_equal(budget_take(&b, UINT64_MAX), -EFBIG);
}

/* Those beyond the table share an account, and so one share. */
static void test_many_users(void **state)
{
	struct sym_budget b;
	u32 last = 0;

	(void)state;
	budget_init(&b, 400, 0);
	for (u32 uid = 70000; uid < 70000 + 2 * BUDGET_USERS; uid++)
		last = budget_user(&b, uid);
	assert_int_equal(last, BUDGET_USERS - 1);
	assert_int_equal(b.users[last].uid, BUDGET_OTHERS);
	assert_int_equal(budget_user(&b, 80000), last);
	assert_int_equal(budget_take(&b, 100), 0);
	assert_int_equal(budget_user(&b, 80001), last);
	assert_int_equal(budget_take(&b, 1), -EFBIG);
}

static void test_time_of_a_user(void **state)
{
	struct sym_budget b;

	(void)state;
	budget_init(&b, 0, 4000000); /* a user has a millisecond */
	budget_user(&b, NOBODY);
	budget_begin(&b, UINT64_MAX);
	while (!budget_over(&b))
		;
	assert_int_equal(budget_end(&b), -ETIMEDOUT);
	assert_true(budget_spent(&b));
	budget_begin(&b, UINT64_MAX);
	assert_int_equal(budget_end(&b), -ETIMEDOUT);
	b.ns_left = 1000000000; /* however long this host took for the above */
	budget_user(&b, 0);
	assert_false(budget_spent(&b));
}

/* A hundredth of what goes by between two passes, of which a user has a quarter. */
static void test_time_comes_back(void **state)
{
	const u64 second = 1000000000;
	struct sym_budget b;

	(void)state;
	budget_init(&b, 0, 40 * second);
	budget_pass_begin(&b);
	b.ns_left = 0;
	budget_user(&b, NOBODY);
	b.users[b.user].ns = 10 * second;
	budget_pass_begin(&b);
	assert_true(b.ns_left < second);
	b.pass_ns -= 1000 * second;
	budget_pass_begin(&b);
	assert_in_range(b.ns_left, 10 * second, 11 * second);
	assert_in_range(b.users[b.user].ns, 7 * second, 8 * second);
	assert_false(budget_spent(&b));
	b.pass_ns -= 100000 * second;
	budget_pass_begin(&b);
	assert_int_equal(b.ns_left, 40 * second);
	assert_int_equal(b.users[b.user].ns, 0);
	/* but no more than the process may use */
	assert_in_range(b.refilled_ns, 40 * second, 42 * second);
	b.refilled_ns = BUDGET_REFILL_NS - 5 * second;
	for (int i = 0; i < 2; i++) {
		b.ns_left = 0;
		b.pass_ns -= 100000 * second;
		budget_pass_begin(&b);
		assert_int_equal(b.ns_left, i ? 0 : 5 * second);
	}
}

static void test_dictionaries(void **state)
{
	struct sym_budget b;

	(void)state;
	budget_init(&b, 1000, 0);
	assert_int_equal(budget_take_word(&b, 500), 0);
	assert_int_equal(budget_take_word(&b, 1), -EFBIG);
	assert_int_equal(b.words_out, 1);
	assert_int_equal(budget_take(&b, 501), -EFBIG);
	assert_int_equal(budget_take(&b, 500), 0);
}

/* A process of the user, which waits. */
static pid_t process_start(u32 uid)
{
	int ready[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(uid, uid, uid) || write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void process_end(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	unlink(path);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Its map: one name, then lines for that many bytes. */
static void map_write(pid_t pid, u32 uid, size_t bytes)
{
	static const char first[] = "1000 10 first\n", line[] = "0 1 a\n";
	_cleanup_free_ char *text = malloc(bytes + sizeof(first));
	char path[40];
	size_t n = sizeof(first) - 1;
	int fd;

	assert_non_null(text);
	memcpy(text, first, n);
	for (; n + sizeof(line) < bytes; n += sizeof(line) - 1)
		memcpy(text + n, line, sizeof(line) - 1);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	assert_int_equal(fchown(fd, uid, uid), 0);
	close(fd);
}

static void truncate_map(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	assert_int_equal(truncate(path, 0), 0);
}

static bool has_name(struct perf_maps *maps, pid_t pid)
{
	const char *name;
	u64 offset;

	return !perf_maps_find(maps, (u32)pid, 0x1004, &name, &offset) && offset == 4 &&
	       !strcmp(name, "first");
}

static void test_perf_maps_of_one_user(void **state)
{
	struct perf_maps *maps = NULL;
	struct sym_budget b;
	pid_t pids[PROCESSES], root;
	size_t named = 0;

	(void)state;
	if (geteuid()) {
		print_message("needs root, to have processes of another user\n");
		skip();
	}
	budget_init(&b, 32 * MIB, 0);
	assert_int_equal(perf_maps_new(&b, &maps), 0);
	for (size_t i = 0; i < PROCESSES; i++) {
		pids[i] = process_start(NOBODY);
		map_write(pids[i], NOBODY, i ? MIB : 9 * MIB); /* the first alone is too large */
		perf_maps_sight(maps, (u32)pids[i]);
	}
	root = process_start(0);
	map_write(root, 0, MIB);
	perf_maps_sight(maps, (u32)root);
	perf_maps_pass_begin(maps);
	for (size_t i = 0; i < PROCESSES; i++)
		named += has_name(maps, pids[i]);
	assert_false(has_name(maps, pids[0]));
	assert_in_range(named, 1, PROCESSES - 2); /* 5 MiB for each with its lines, of 8 */
	assert_true(b.bytes_taken <= 8 * MIB);
	budget_user(&b, NOBODY);
	assert_int_equal(b.users[b.user].files_out, PROCESSES - named);
	assert_true(b.users[b.user].bytes_out > 9 * MIB);
	assert_true(has_name(maps, root));
	truncate_map(root);
	assert_true(has_name(maps, root)); /* looked at once a pass, not once a name */
	perf_maps_pass_begin(maps);
	assert_false(has_name(maps, root));
	for (size_t i = 0; i < PROCESSES; i++)
		process_end(pids[i]);
	process_end(root);
	perf_maps_forget_ended(maps);
	assert_true(b.bytes_taken > 0); /* what they did may be told of once more */
	perf_maps_forget_ended(maps);
	assert_int_equal(b.bytes_taken, 0);
	perf_maps_free(maps);
}

/* A map is believed if it is of root, of who runs this, or of the user of its process. */
static void test_perf_map_owners(void **state)
{
	static const struct {
		u32 process, map;
		bool read;
	} cases[] = {
		{NOBODY, NOBODY, true},
		{NOBODY, 0, true},
		{NOBODY, NOBODY - 1, false},
		{0, NOBODY, false},
	};

	(void)state;
	if (geteuid()) {
		print_message("needs root, to have processes of another user\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perf_maps *maps = NULL;
		struct sym_budget b;
		pid_t pid = process_start(cases[i].process);

		budget_init(&b, 32 * MIB, 0);
		assert_int_equal(perf_maps_new(&b, &maps), 0);
		map_write(pid, cases[i].map, 1000);
		perf_maps_sight(maps, (u32)pid);
		perf_maps_pass_begin(maps);
		if (has_name(maps, pid) != cases[i].read)
			fail_msg("a map of %u for a process of %u", cases[i].map, cases[i].process);
		perf_maps_free(maps);
		process_end(pid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_of_a_user),
		cmocka_unit_test(test_many_users),
		cmocka_unit_test(test_time_of_a_user),
		cmocka_unit_test(test_time_comes_back),
		cmocka_unit_test(test_dictionaries),
		cmocka_unit_test(test_perf_maps_of_one_user),
		cmocka_unit_test(test_perf_map_owners),
	};

	return cmocka_run_group_tests_name("sym_budget", tests, NULL, NULL);
}
