/*
 * What `numa` says: the headline, and each finding's lines, of made-up programs. The verdicts
 * themselves are of numa_patterns_test.c and numa_evidence_test.c.
 */
#include "view_fixture.h"

#include "probes/numa/numa_patterns.h"
#include "probes/numa/numa_view.h"
#include "render/render_text.h"

#define PID 100U
#define MAP 0x7f0000000000ULL
#define PAGES 100

static struct fixture f;
static u64 now;

#define N(type_, kind_, ...)                                                                   \
	({                                                                                     \
		type_ rec_ = {.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = now++}, \
			__VA_ARGS__};                                                          \
		view_feed(&f, &rec_);                                                          \
	})

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
		.bytes = PAGES * 4096ULL, .what = NUMA_MAP_MADE, .kind = NUMA_KIND_ANON, .prot = 3);
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

/* The headline does not deny what NOT CHECKED says. */
static void test_headline_of_few_samples(void **state)
{
	char *text;

	(void)state;
	open_with(2);
	producer(NUMA_MIN_SAMPLES - 1);
	/* Local ones of something else, so that findings are looked for. */
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .tid = PID, .start = 2 * MAP,
		.bytes = 4096, .what = NUMA_MAP_MADE, .kind = NUMA_KIND_ANON, .prot = 3);
	for (u32 i = 0; i < 50; i++)
		N(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID, .tid = PID, .address = 2 * MAP,
			.cpu_node = 1, .page_node = 1, .source = NUMA_PEBS,
			.node_from = NUMA_PAGE_FRAME);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	assert_int_equal(f.report.not_checked.n, 1);
	assert_non_null(strstr(f.report.not_checked.v[0], "1 object seems to be used from afar"));
	text = text_of();
	assert_non_null(strstr(text, "Nothing is sure yet: 1 object seems to be used from afar"));
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

/* Nodes are known, but not of the CPUs that accessed. */
static void test_headline_without_cpus(void **state)
{
	(void)state;
	open_with(2);
	for (u32 i = 0; i < 500; i++)
		touch(i % PAGES, PID, 77, -1, NUMA_REMOTE);
	view_report(&f);
	assert_non_null(f.report.verdict);
	assert_non_null(strstr(f.report.verdict, "no sample tells the CPU"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headline_of_few_samples),
		cmocka_unit_test(test_headline_of_local),
		cmocka_unit_test(test_headline_without_nodes),
		cmocka_unit_test(test_headline_without_cpus),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
