/* What memwhy says that it costs, held against the kernel's other ways of telling it; and how the
 * command's end becomes a status. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/cost.h"
#include "record/spawn.h"

#define GROWN (64UL << 20)

static u64 cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}

/* VmHWM, in bytes. */
static u64 rss_most(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %llu", &kib);
	fclose(f);
	return kib * 1024;
}

static void units(void **state)
{
	struct cost c = {.stats_fd = -1};
	u64 before = cpu_now(), after, rss = rss_most();
	struct rec_cost r;
	char *grown;
	u64 most;

	(void)state;
	while (cpu_now() < before + 20 * NSEC_PER_MSEC)
		;
	before = cpu_now();
	r = cost_read(&c, NULL, 0);
	after = cpu_now();
	/* getrusage() counts whole microseconds of two parts. */
	assert_in_range(r.cpu_ns, before - 2 * NSEC_PER_USEC, after + 2 * NSEC_PER_USEC);
	/* The kernel's numbers are right to some pages a CPU; whose parent was large is not. */
	assert_in_range(r.rss_bytes, rss - rss / 4, rss + rss / 4);
	grown = malloc(GROWN);
	assert_non_null(grown);
	memset(grown, 1, GROWN);
	r = cost_read(&c, NULL, 0);
	assert_in_range(r.rss_bytes, rss + GROWN - GROWN / 8, rss + GROWN + GROWN / 8);
	most = r.now_bytes;
	assert_in_range(most, GROWN, r.rss_bytes + GROWN / 8);
	free(grown);
	r = cost_read(&c, NULL, 0);
	assert_true(r.now_bytes < most - GROWN + GROWN / 8);
	assert_true(r.rss_bytes >= most - GROWN / 8);
	assert_int_equal(r.bpf_ns + r.bpf_runs + r.bpf_bytes, 0);
}

/* Runs a command to its end. */
static int status_of(const char *script)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
	struct spawned s = {};
	struct err err = {};
	int status;

	assert_int_equal(spawn_held(argv, NULL, &s, &err), 0);
	assert_false(spawn_ended(&s)); /* it is held */
	assert_int_equal(spawn_release(&s, argv[0], &err), 0);
	while (!spawn_ended(&s))
		usleep(1000);
	status = spawn_exit_status(&s);
	spawn_close(&s);
	return status;
}

static void statuses(void **state)
{
	(void)state;
	assert_int_equal(status_of("exit 0"), 0);
	assert_int_equal(status_of("exit 3"), 3);
	assert_int_equal(status_of("exit 255"), 255);
	assert_int_equal(status_of("kill -TERM $$"), 128 + 15);
	assert_int_equal(status_of("kill -KILL $$"), 128 + 9);
}

static void what_is_no_command(void **state)
{
	char *none[] = {"/nonexistent/memwhy", NULL}, *directory[] = {"/", NULL};
	struct spawned s = {};
	struct err err = {};

	(void)state;
	assert_int_equal(spawn_held(none, NULL, &s, &err), 0);
	assert_int_equal(spawn_release(&s, none[0], &err), -ENOENT);
	assert_non_null(strstr(err.msg, none[0]));
	assert_true(s.ended);
	spawn_close(&s);
	assert_int_equal(spawn_held(directory, NULL, &s, &err), 0);
	assert_int_equal(spawn_release(&s, directory[0], &err), -EACCES);
	spawn_close(&s);
}

/* One that is never let go never runs. */
static void what_is_given_up(void **state)
{
	char file[40], *argv[] = {"touch", file, NULL};
	struct spawned s = {};
	struct err err = {};

	(void)state;
	snprintf(file, sizeof(file), "/tmp/memwhy-spawn-%d", getpid());
	assert_int_equal(spawn_held(argv, NULL, &s, &err), 0);
	spawn_close(&s);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_not_equal(access(file, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units),
		cmocka_unit_test(statuses),
		cmocka_unit_test(what_is_no_command),
		cmocka_unit_test(what_is_given_up),
	};

	return cmocka_run_group_tests_name("record_cost", tests, NULL, NULL);
}
