/*
 * What `numa` says: the headline, and each finding's lines, of made-up programs. The verdicts
 * themselves are of numa_patterns_test.c and numa_evidence_test.c.
 */
#include "probes/numa/numa_records.h"

#include "probes/numa/judge/numa_patterns.h"
#include "probes/numa/view/numa_view.h"
#include "probes/processes/processes.h"
#include "render/render_text.h"
#include "sys/calls/mempolicy_abi.h"

#define PAGES 100

static void open_with(u32 nodes)
{
	now = 5000000000;
	view_open(&f, &numa_view, &(struct view_options){}, "numa");
	for (u32 i = 0; i < nodes; i++) {
		struct numa_node n = {.h = {.size = sizeof(n), .kind = REC_NUMA_NODE, .flags = 3},
			.node = i,
			.bytes = 1ULL << 30,
			.distances = {i ? 21 : 10, i ? 10 : 21}};

		view_feed(&f, &n);
		N(struct numa_cpu, REC_NUMA_CPU, .cpu = i, .node = (s32)i);
	}
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .tid = PID, .start = MAP,
		.bytes = PAGES * 4096ULL, .what = NUMA_MAP_MADE, .kind = MAPPING_ANON, .prot = 3);
}

static void touch(u32 page, u32 tid, u32 cpu, s32 on, u16 flags)
{
	struct numa_sample s = {.h = {.size = sizeof(s), .kind = REC_NUMA_SAMPLE, .flags = flags},
		.tgid = PID,
		.tid = tid,
		.address = MAP + page * 4096ULL,
		.cpu = (s32)cpu,
		.cpu_node = -1,
		.page_node = on,
		.op = NUMA_LOAD,
		.source = NUMA_PEBS,
		.node_from = on < 0 ? NUMA_PAGE_UNKNOWN : NUMA_PAGE_FRAME};

	s.h.time_ns = now++;
	view_feed(&f, &s);
}

/* What one thread made on node 0, another uses on node 1: so many accesses. */
static void producer(u32 n)
{
	for (u32 i = 0; i < n; i++)
		touch(i % PAGES, PID + 1, 1, 0, 0);
}

static bool has(const char *const lines[FINDING_LINES], const char *text)
{
	for (u32 i = 0; i < FINDING_LINES && lines[i]; i++)
		if (strstr(lines[i], text))
			return true;
	return false;
}

static const struct finding *the_finding(void)
{
	view_report(&f);
	assert_int_equal(f.report.findings.n, 1);
	return &f.report.findings.v[0];
}

static char *text_of(void)
{
	struct render_options o = {.width = 100};
	struct str out = {};

	findings_add(&out, &f.report, &o);
	return out.buf;
}

static void name(u32 id, const char *text)
{
	struct {
		struct rec_string r;
		char text[64];
	} s = {.r = {.h = {sizeof(s), REC_STRING, 0, now}, .id = id}};

	s.r.length = (u32)strlen(text);
	memcpy(s.r.text, text, s.r.length);
	view_feed(&f, &s);
}

/* The headline does not deny what NOT CHECKED says. */
static void test_headline_of_few_samples(void **state)
{
	char *text;

	(void)state;
	open_with(2);
	producer(NUMA_MIN_SAMPLES - 1);
	/* Local ones of something else, so that findings are looked for. */
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .tid = PID, .start = 2 * MAP,
		.bytes = 4096, .what = NUMA_MAP_MADE, .kind = MAPPING_ANON, .prot = 3);
	for (u32 i = 0; i < 50; i++)
		N(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID, .tid = PID, .address = 2 * MAP,
			.cpu_node = 1, .page_node = 1, .source = NUMA_PEBS,
			.node_from = NUMA_PAGE_FRAME);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	assert_int_equal(f.report.not_checked.n, 1);
	assert_non_null(strstr(f.report.not_checked.v[0], "1 object seems to be used remotely"));
	text = text_of();
	assert_non_null(strstr(text, "Nothing is sure yet: 1 object seems to be used remotely"));
	assert_null(strstr(text, "No problem"));
	free(text);
	view_close(&f);
}

/* All is local: that is an answer. */
static void test_headline_of_local(void **state)
{
	char *text;

	(void)state;
	open_with(2);
	for (u32 i = 0; i < 300; i++)
		touch(i % PAGES, PID, 0, 0, 0);
	view_report(&f);
	assert_null(f.report.verdict);
	text = text_of();
	assert_non_null(strstr(text, "No problem was found"));
	free(text);
	view_close(&f);
}

/* perf.data without its nodes: the hardware says which accesses are remote, and nobody whose. */
static void test_headline_without_nodes(void **state)
{
	char *text;

	(void)state;
	open_with(0);
	for (u32 i = 0; i < 500; i++)
		touch(i % PAGES, PID + i % 2, i % 2, -1, i % 2 ? NUMA_REMOTE : NUMA_LOCAL);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	assert_int_equal(f.report.not_checked.n, 0);
	text = text_of();
	assert_non_null(strstr(text, "It cannot be judged: which CPUs are on which node"));
	assert_non_null(strstr(text, "--topology FILE"));
	assert_null(strstr(text, "No problem"));
	free(text);
	view_close(&f);
}

/* Nothing can be remote, and that is said, whether there were samples or not. */
static void test_headline_of_one_node(void **state)
{
	(void)state;
	for (u32 samples = 0; samples <= 300; samples += 300) {
		char *text;

		open_with(1);
		for (u32 i = 0; i < samples; i++)
			touch(i % PAGES, PID, 0, 0, 0);
		view_report(&f);
		text = text_of();
		assert_non_null(strstr(text, "This machine has one NUMA node: no access can be "
					     "remote."));
		free(text);
		view_close(&f);
	}
}

/* Nodes are known, but not of the CPUs that accessed. */
static void test_headline_without_cpus(void **state)
{
	(void)state;
	open_with(2);
	for (u32 i = 0; i < 500; i++)
		touch(i % PAGES, PID, 77, -1, NUMA_REMOTE);
	view_report(&f);
	assert_non_null(f.report.verdict);
	assert_non_null(strstr(f.report.verdict, "the samples lack the CPU"));
	view_close(&f);
}

/* One of a thing is told as one, and no line says its label again or begins with a colon. */
static void test_words(void **state)
{
	const struct finding *found;
	char *text;

	(void)state;
	open_with(2);
	producer(300);
	found = the_finding();
	assert_true(has(found->evidence, "1 thread, 1 object of "));
	assert_false(has(found->undo, "Undo"));
	assert_true(has(found->verify, "Its remote share, now 100 %, falls: `memwhy numa "));
	text = text_of();
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		line += strspn(line, " ");
		assert_true(*line != ':');
	}
	free(text);
	view_close(&f);
}

/* What moves it, and how that is undone: of the process, the pages and the node. */
static void test_trial(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	producer(300);
	found = the_finding();
	assert_non_null(strstr(found->title, numa_pattern_name(NUMA_PRODUCER)));
	assert_true(has(found->try_, "Try to move it while process 100 runs, measured before and "
				     "after: `memwhy numa try -p 100 "
				     "0x7f0000000000-0x7f0000064000 --to 1`"));
	assert_true(has(found->undo, "`memwhy numa try -p 100 --undo`"));
	assert_true(has(found->verify, "`memwhy numa -p 100`"));
	view_close(&f);
}

/* There is no process to try it on: the command would be of nobody, or of another. */
static void test_trial_of_the_dead(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	producer(300);
	for (u32 i = 0; i < 2; i++)
		N(struct numa_task, REC_NUMA_TASK, .tgid = PID, .tid = PID + 1 - i,
			.what = i ? NUMA_TASK_EXIT : NUMA_TASK_THREAD_EXIT);
	found = the_finding();
	assert_false(has(found->try_, "numa try"));
	assert_false(has(found->undo, "numa try"));
	assert_true(has(found->try_, "when it runs again"));
	assert_false(has(found->try_, "PID"));
	/* No address of what is gone; its command line is not known. */
	assert_true(has(found->try_, "mbind(its address, "));
	assert_false(has(found->try_, "0x7f"));
	assert_false(has(found->verify, "./job"));
	assert_true(has(found->verify, "now 100 %, falls (run it under memwhy numa --)"));
	view_close(&f);
	/* With its command line, as it was last looked at. */
	open_with(2);
	name(9, "./a job\x1f-x");
	producer(300);
	N(struct process_numa, REC_PROCESS_NUMA, .tgid = PID, .nodes = 2, .command = 9);
	N(struct numa_task, REC_NUMA_TASK, .tgid = PID, .tid = PID, .what = NUMA_TASK_EXIT);
	for (u32 i = 0; i < 2; i++)
		N(struct numa_task, REC_NUMA_TASK, .tgid = PID, .tid = PID + i,
			.what = NUMA_TASK_THREAD_EXIT);
	found = the_finding();
	assert_true(has(found->verify, "falls: `memwhy numa -- './a job' -x`"));
	view_close(&f);
}

/* Its process lives, it does not. */
static void test_trial_of_the_unmapped(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	producer(300);
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .tid = PID, .start = MAP,
		.bytes = PAGES * 4096ULL, .what = NUMA_MAP_GONE);
	found = the_finding();
	assert_false(has(found->try_, "numa try"));
	view_close(&f);
}

/* All of it, by all nodes at once. */
static void test_trial_of_shared(void **state)
{
	const struct finding *found;
	u32 seed = 1;

	(void)state;
	open_with(2);
	for (u32 i = 0; i < 2000; i++) {
		seed = seed * 1103515245 + 12345;
		touch((seed >> 8) % PAGES, PID + (seed >> 20) % 2, (seed >> 20) % 2, 0, 0);
	}
	view_report(&f);
	found = &f.report.findings.v[0];
	assert_non_null(strstr(found->title, numa_pattern_name(NUMA_CONCURRENT)));
	assert_true(has(found->try_, "Try to interleave it while process 100 runs"));
	assert_true(has(found->try_,
		"`memwhy numa try -p 100 0x7f0000000000-0x7f0000064000 --interleave`"));
	view_close(&f);
}

/* Each node its part: only the one that lies elsewhere goes, from page 60 on. */
static void test_trial_of_a_part(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	for (u32 i = 0; i < 4000; i++) {
		u32 page = i * 37 % PAGES;

		touch(page, PID + (page >= 60), page >= 60, 0, 0);
	}
	view_report(&f);
	found = &f.report.findings.v[0];
	assert_non_null(strstr(found->title, numa_pattern_name(NUMA_PARTITIONED)));
	assert_true(has(found->try_, "Try to move the part that node 1 uses"));
	assert_true(has(found->try_, "0x7f000003c000-0x7f0000064000 --to 1`"));
	view_close(&f);
}

/* Parts here and there are no range. */
static void test_no_trial_of_stripes(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	for (u32 i = 0; i < 4000; i++) {
		u32 page = i * 37 % PAGES, node = page / 10 % 2;

		touch(page, PID + node, node, 0, 0);
	}
	view_report(&f);
	found = &f.report.findings.v[0];
	assert_non_null(strstr(found->title, numa_pattern_name(NUMA_PARTITIONED)));
	assert_false(has(found->try_, "numa try"));
	assert_false(has(found->try_, "runs again"));
	view_close(&f);
}

/* 100 pages of 2 us; 21 against 10 of 100 ns are 110 ns more, and 2000 / 110 is 18.2. */
static void test_cost_of_the_move(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	producer(300);
	found = the_finding();
	assert_true(has(found->evidence, "To move its 100 pages takes about 200 us, once"));
	assert_true(has(found->evidence, "about 110 ns more (estimated: distance 21 against 10, "));
	assert_true(has(found->evidence, "the move pays from 19 a page on; the samples do not tell "
					 "how many there are"));
	view_close(&f);
}

/* Where a sample says how many accesses it stands for they can be held against it. */
static void test_gain_of_the_move(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	for (u32 i = 0; i < 400; i++)
		N(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID, .tid = PID + 1,
			.address = MAP + i % PAGES * 4096ULL, .cpu = 1, .cpu_node = 1,
			.page_node = i % 4 ? 0 : 1, .weight = 100, .latency = i % 4 ? 290 : 90,
			.source = NUMA_PEBS, .op = NUMA_LOAD, .node_from = NUMA_PAGE_FRAME);
	found = the_finding();
	assert_true(has(found->evidence, "about 200 ns more (by the latencies): the move pays "
					 "from 10 a page on"));
	assert_true(has(found->evidence, "here there were about 300.0 a page in "));
	view_close(&f);
}

/* Each page was remote once, was moved, and is local since: nothing is left to move. */
static void test_no_trial_after_balancing(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	for (u32 round = 0; round < 4; round++)
		for (u32 i = 0; i < PAGES; i++) {
			u64 at = MAP + i * 4096ULL;

			now += 1000000;
			N(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID, .tid = PID + 1,
				.address = at, .cpu = 1, .cpu_node = 1, .page_node = round > 0,
				.source = NUMA_HINT_FAULT, .node_from = NUMA_PAGE_SEEN);
			if (!round)
				N(struct numa_move, REC_NUMA_MOVE, .tgid = PID, .tid = PID + 1,
					.address = at, .pages = 1, .from = 0, .to = 1,
					.why = NUMA_MOVE_BALANCING);
		}
	found = the_finding();
	/* The share that the tables have, and what it would be. */
	assert_non_null(
		strstr(found->title, "remote use after allocation, 25 % of its accesses are "
				     "remote, 100 % before balancing moved its pages"));
	assert_true(has(found->verify, "now 25 %"));
	assert_true(has(found->try_, "A trial (numa try) would find nothing to move"));
	assert_false(has(found->try_, "`memwhy numa"));
	assert_true(has(found->evidence, "distance 21 against 10"));
	/* Not to where it lies by now. */
	assert_true(has(found->try_, "MPOL_BIND, (unsigned long[]){0x2}"));
	assert_false(has(found->undo, "mbind"));
	view_close(&f);
}

/* A process that runs on node 0 with its memory bound to node 1, as last looked at: pages of it. */
static void bound(u64 pages, u32 policy)
{
	N(struct process_numa, REC_PROCESS_NUMA, .tgid = PID, .nodes = 2, .comm = "job",
		.resident_pages = {100, pages}, .policy_pages = {0, policy ? pages : 0},
		.threads = {1}, .ran_ns = {300000000}, .policy = policy, .command = 9,
		.cpu_nodes = 3);
}

/* No access to it is sampled, and it is told nevertheless: where, by whom, which call, what to do.
 */
static void test_bound(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	name(8, "bind:1");
	name(9, "./job\x1f--of it");
	N(struct numa_policy, REC_NUMA_POLICY, .tgid = PID, .tid = PID, .nodes = 2,
		.call = CALL_SET_MEMPOLICY, .mode = MODE_BIND);
	bound(20000, 8);
	bound(30000, 8);
	found = the_finding();
	assert_true(f.report.has_findings);
	assert_string_equal(found->title, "job (pid 100) runs on node 0, but its policy bind:1 "
					  "puts its memory elsewhere: 100 % is on node 1");
	assert_true(has(found->evidence, "node 1: 117 MiB of its memory"));
	assert_true(has(found->evidence, "It was set by set_mempolicy(MPOL_BIND, {1})"));
	assert_true(has(found->try_, "`migratepages 100 1 0`"));
	assert_true(has(found->try_, "`numactl --cpunodebind=0 --preferred=0 ./job '--of it'`"));
	view_close(&f);
}

/* Of a process that has ended nothing can be moved. */
static void test_bound_and_ended(void **state)
{
	const struct finding *found;

	(void)state;
	open_with(2);
	name(8, "bind:1");
	name(9, "./job");
	bound(30000, 8);
	N(struct numa_task, REC_NUMA_TASK, .tgid = PID, .tid = PID, .what = NUMA_TASK_EXIT);
	found = the_finding();
	assert_true(has(found->evidence, "The call that set it was not seen"));
	assert_false(has(found->try_, "migratepages"));
	assert_false(has(found->try_, "taskset"));
	assert_true(has(found->verify, "`memwhy numa -- ./job`"));
	view_close(&f);
}

/* The call of a parent is that of its children; one that was replaced is not told. */
static void test_bound_by_a_parent(void **state)
{
	(void)state;
	open_with(2);
	name(8, "bind:1");
	N(struct numa_policy, REC_NUMA_POLICY, .tgid = 50, .tid = 50, .nodes = 1,
		.call = CALL_SET_MEMPOLICY, .mode = MODE_PREFERRED);
	N(struct numa_policy, REC_NUMA_POLICY, .tgid = 50, .tid = 50, .nodes = 2,
		.call = CALL_SET_MEMPOLICY, .mode = MODE_BIND);
	N(struct numa_task, REC_NUMA_TASK, .tgid = PID, .tid = PID, .parent = 50,
		.what = NUMA_TASK_FORK);
	bound(30000, 8);
	assert_true(has(the_finding()->evidence, "It was set by set_mempolicy(MPOL_BIND, {1})"));
	view_close(&f);
}

/* The last call that was seen is not the one that set what is in force: that was lost. */
static void test_bound_by_a_lost_call(void **state)
{
	(void)state;
	open_with(2);
	name(8, "bind:1");
	N(struct numa_policy, REC_NUMA_POLICY, .tgid = PID, .tid = PID, .call = CALL_SET_MEMPOLICY,
		.mode = MODE_DEFAULT);
	bound(30000, 8);
	assert_true(has(the_finding()->evidence, "The call that set it was not seen"));
	view_close(&f);
}

/* First touch is told by accesses, if at all. */
static void test_bound_by_nothing(void **state)
{
	(void)state;
	open_with(2);
	bound(30000, 0);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headline_of_few_samples),
		cmocka_unit_test(test_headline_of_local),
		cmocka_unit_test(test_headline_of_one_node),
		cmocka_unit_test(test_headline_without_nodes),
		cmocka_unit_test(test_headline_without_cpus),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_trial),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bound_and_ended),
		cmocka_unit_test(test_bound_by_a_parent),
		cmocka_unit_test(test_bound_by_a_lost_call),
		cmocka_unit_test(test_bound_by_nothing),
		cmocka_unit_test(test_trial_of_the_dead),
		cmocka_unit_test(test_trial_of_the_unmapped),
		cmocka_unit_test(test_trial_of_shared),
		cmocka_unit_test(test_trial_of_a_part),
		cmocka_unit_test(test_no_trial_of_stripes),
		cmocka_unit_test(test_no_trial_after_balancing),
		cmocka_unit_test(test_cost_of_the_move),
		cmocka_unit_test(test_gain_of_the_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
