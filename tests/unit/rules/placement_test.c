/*
 * What `check` says of a process whose memory is on other nodes than its threads: by first touch,
 * by a policy, by its cpuset; and that its commands can be run.
 */
#include "rules/rules_fixture.h"

#include "probes/processes/processes.h"
#include "rules/rules.h"
#include "sys/process/whereabouts.h"

static struct bench b;

#define NUMA(...)                                                                            \
	PUT(&b, struct process_numa, REC_PROCESS_NUMA, .tgid = 7, .nodes = 2, .comm = "job", \
		__VA_ARGS__)

static const struct finding *found(void)
{
	size_t n = conclude(&b);

	assert_true(n <= 1);
	return n ? &b.report.findings.v[0] : NULL;
}

static void begin_rule(void)
{
	begin(&b, &rule_numa_placement, 2);
	string(&b, 5, "bind:1");
	string(&b, 6,
		"./my job\x1f-n\x1f"
		"a'b");
	string(&b, 7, "0,2");
}

/* The numbers of nodes are those of this machine, and no word is left to be filled in. */
static void test_first_touch(void **state)
{
	const struct finding *f;

	(void)state;
	begin_rule();
	NUMA(.resident_pages = {100, 100000}, .threads = {4}, .ran_ns = {NSEC_PER_SEC});
	f = found();
	assert_string_equal(f->rule, "numa-placement");
	assert_true(says(f->try_, "`migratepages 7 1 0`"));
	assert_true(says(f->undo, "`migratepages 7 0 1`"));
	assert_false(says(f->try_, "NODE"));
	end(&b);
}

/* The binding is named, and not that a page lies where it was first touched. */
static void test_policy(void **state)
{
	const struct finding *f;

	(void)state;
	begin_rule();
	NUMA(.resident_pages = {100, 33000}, .policy_pages = {0, 33000}, .threads = {1},
		.ran_ns = {3 * NSEC_PER_SEC}, .policy = 5, .command = 6, .allowed_cpus = 7,
		.allowed_nodes = 1, .allowed_memory = 3, .cpu_nodes = 3);
	f = found();
	assert_string_equal(f->rule, "numa-policy");
	assert_int_equal(f->level, LEVEL_RISK);
	assert_string_equal(f->title, "job (pid 7) runs on node 0, but its policy bind:1 puts its "
				      "memory elsewhere: 100 % is on node 1");
	assert_null(strstr(f->why, "first touched"));
	assert_true(says(f->evidence, "node 0: 400 KiB of its memory, 1 thread, 100 % of its CPU"));
	assert_true(says(f->evidence, "is set for the process (set_mempolicy"));
	assert_true(says(f->evidence, "Its affinity restricts it to CPUs of node 0"));
	assert_true(
		says(f->try_, "`taskset -acp $(cat /sys/devices/system/node/node1/cpulist) 7`"));
	assert_true(says(f->undo, "`taskset -acp 0,2 7`"));
	assert_true(says(f->try_, "`migratepages 7 1 0`"));
	assert_true(
		says(f->try_, "`numactl --cpunodebind=0 --preferred=0 './my job' -n 'a'\\''b'`"));
	end(&b);
}

/* Pages of files on nodes that the policy does not name are no work of it. */
static void test_policy_beside_files(void **state)
{
	const struct finding *f;

	(void)state;
	begin_rule();
	PUT(&b, struct process_numa, REC_PROCESS_NUMA, .tgid = 7, .nodes = 4, .comm = "job",
		.resident_pages = {0, 33000, 1000, 2000}, .policy_pages = {0, 33000},
		.threads = {1}, .ran_ns = {3 * NSEC_PER_SEC}, .policy = 5);
	f = found();
	assert_string_equal(f->title, "job (pid 7) runs on node 0, but its policy bind:1 puts its "
				      "memory elsewhere: 92 % is on node 1");
	assert_true(says(f->try_, "`migratepages 7 1 0`"));
	assert_true(says(f->undo, "`migratepages 7 0 1`"));
	end(&b);
}

/* A small program is told of too, if it does something. */
static void test_policy_of_a_small_one(void **state)
{
	const struct finding *f;

	(void)state;
	begin_rule();
	NUMA(.resident_pages = {200, 1500}, .policy_pages = {0, 1500}, .threads = {1},
		.ran_ns = {NSEC_PER_SEC}, .policy = 5);
	f = found();
	assert_string_equal(f->rule, "numa-policy");
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_true(says(f->try_, "numactl --cpunodebind=0 --preferred=0 and its command"));
	end(&b);
	begin_rule();
	NUMA(.resident_pages = {200, 1500}, .policy_pages = {0, 1500}, .threads = {1},
		.ran_ns = {NSEC_PER_MSEC}, .policy = 5);
	assert_null(found());
	end(&b);
	/* Without a policy it is too little to matter. */
	begin_rule();
	NUMA(.resident_pages = {200, 1500}, .threads = {1}, .ran_ns = {NSEC_PER_SEC});
	assert_null(found());
	end(&b);
}

/* mbind is the program's own: no numactl can undo it. */
static void test_policy_of_mappings(void **state)
{
	const struct finding *f;

	(void)state;
	begin_rule();
	NUMA(.resident_pages = {100, 33000}, .policy_pages = {0, 32000}, .threads = {1},
		.ran_ns = {NSEC_PER_SEC}, .policy = 5, .command = 6, .h.flags = PROCESS_NUMA_OWN);
	f = found();
	assert_true(says(f->evidence, "is set on its mappings (mbind)"));
	assert_false(says(f->try_, "numactl"));
	assert_true(says(f->try_, "remove the call"));
	end(&b);
}

/* A policy that puts memory where the threads are is none of this, nor is a spread. */
static void test_policy_that_is_fine(void **state)
{
	(void)state;
	begin_rule();
	NUMA(.resident_pages = {100, 33000}, .policy_pages = {0, 33000}, .threads = {1, 1},
		.ran_ns = {NSEC_PER_MSEC, NSEC_PER_SEC}, .policy = 5);
	assert_null(found());
	end(&b);
	begin_rule();
	NUMA(.resident_pages = {33000, 33000}, .policy_pages = {33000, 33000}, .threads = {1, 1},
		.ran_ns = {NSEC_PER_SEC, NSEC_PER_SEC}, .policy = 5);
	assert_null(found());
	end(&b);
}

/* Pages cannot go to a node that the cpuset forbids. */
static void test_cpuset(void **state)
{
	const struct finding *f;

	(void)state;
	begin_rule();
	NUMA(.resident_pages = {100, 33000}, .threads = {1}, .ran_ns = {NSEC_PER_SEC},
		.allowed_memory = 2);
	f = found();
	assert_non_null(strstr(f->title, "its cpuset allows no memory there"));
	assert_false(says(f->try_, "migratepages"));
	assert_true(says(f->try_, "add node 0 to cpuset.mems"));
	end(&b);
}

/* A record of before the policies were told: what was known then. */
static void test_older_recording(void **state)
{
	(void)state;
	begin_rule();
	NUMA(.resident_pages = {100, 100000}, .threads = {4});
	assert_string_equal(found()->rule, "numa-placement");
	end(&b);
}

static void test_policy_nodes(void **state)
{
	(void)state;
	assert_int_equal(whereabouts_policy_nodes("default"), 0);
	assert_int_equal(whereabouts_policy_nodes("local"), 0);
	assert_int_equal(whereabouts_policy_nodes("bind:1"), 2);
	assert_int_equal(whereabouts_policy_nodes("bind=static|balancing:0-1"), 3);
	assert_int_equal(whereabouts_policy_nodes("prefer (many):0,2"), 5);
	assert_int_equal(whereabouts_policy_nodes("interleave:1-9"), 0xfe);
	assert_int_equal(whereabouts_policy_nodes("bind:x"), 0);
	assert_int_equal(whereabouts_policy_nodes(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_touch),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_policy_beside_files),
		cmocka_unit_test(test_policy_of_a_small_one),
		cmocka_unit_test(test_policy_of_mappings),
		cmocka_unit_test(test_policy_that_is_fine),
		cmocka_unit_test(test_cpuset),
		cmocka_unit_test(test_older_recording),
		cmocka_unit_test(test_policy_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
