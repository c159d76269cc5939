/* The rules of check on synthetic records: each speaks when it should, and stays silent else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "event/stream.h"
#include "probes/faults/faults.h"
#include "probes/frag/frag.h"
#include "probes/processes/processes.h"
#include "probes/reclaim/reclaim.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIB (1ULL << 20)

/* One rule at work on a stream of ten seconds. */
struct bench {
	const struct view *rule;
	void *state;
	struct stream stream;
	struct report report;
};

static void put(struct bench *b, const void *rec)
{
	assert_int_equal(stream_feed(&b->stream, rec), 0);
	assert_int_equal(b->rule->feed(b->state, rec), 0);
}

#define PUT(b_, type_, kind_, ...)                                                              \
	({                                                                                      \
		type_ r_ = {                                                                    \
			.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = NSEC_PER_SEC}, \
			__VA_ARGS__};                                                           \
		put((b_), &r_);                                                                 \
	})

static void begin(struct bench *b, const struct view *rule, u32 nodes)
{
	*b = (struct bench){.rule = rule, .state = calloc(1, rule->size)};
	assert_non_null(b->state);
	assert_int_equal(stream_init(&b->stream), 0);
	assert_int_equal(rule->init(b->state, &(struct view_options){}, NULL), 0);
	PUT(b, struct rec_host, REC_HOST, .cpus = 2, .nodes = nodes, .page_bytes = 4096,
		.pageblock_order = 9, .memory_bytes = 8192 * MIB);
	PUT(b, struct rec_session, REC_SESSION, .command = "check");
	PUT(b, struct rec_task, REC_TASK, .tgid = 7, .cgroup = 42, .comm = "victim");
}

/* Ends the interval and reports; returns how many findings there are. */
static size_t conclude(struct bench *b)
{
	struct rec_tick end = {.h = {sizeof(end), REC_END, 0, 11 * NSEC_PER_SEC}};

	put(b, &end);
	report_init(&b->report, "check", &b->stream);
	assert_int_equal(b->rule->report(b->state, &b->report), 0);
	return b->report.findings.n;
}

static const struct finding *only(struct bench *b)
{
	assert_int_equal(conclude(b), 1);
	return &b->report.findings.v[0];
}

static void end(struct bench *b)
{
	report_destroy(&b->report);
	b->rule->destroy(b->state);
	free(b->state);
	stream_destroy(&b->stream);
}

static bool says(const char *const lines[FINDING_LINES], const char *text)
{
	for (int i = 0; i < FINDING_LINES && lines[i]; i++)
		if (strstr(lines[i], text))
			return true;
	return false;
}

static void value(struct bench *b, u16 source, const char *name, u64 v, const char *text)
{
	struct system_value r = {.h = {sizeof(r), REC_SYSTEM_VALUE, 0, NSEC_PER_SEC}, .value = v};

	r.source = source;
	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.text, sizeof(r.text), "%s", text ? text : "");
	put(b, &r);
}

/* A rule that was fed nothing says nothing. */
static void test_silence(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < rules_n; i++) {
		struct bench b;

		begin(&b, rules[i], 1);
		assert_int_equal(conclude(&b), 0);
		end(&b);
	}
}

static void test_reclaim_memcg(void **unused)
{
	struct bench b;
	const struct finding *f;
	struct rec_cgroup *path = calloc(1, sizeof(*path) + 8);

	(void)unused;
	begin(&b, &rule_reclaim_stalls, 1);
	path->h = (struct rec){sizeof(*path) + 8, REC_CGROUP, 0, NSEC_PER_SEC};
	path->id = 42;
	path->length = 5;
	memcpy(path->path, "/demo", 5);
	put(&b, path);
	free(path);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 1,
		.usage_bytes = 96 * MIB, .limit_bytes = 96 * MIB);
	PUT(&b, struct reclaim_agg, REC_RECLAIM_AGG, .tgid = 7, .kind = RECLAIM_MEMCG, .count = 100,
		.total_ns = 3 * NSEC_PER_SEC, .max_ns = NSEC_PER_SEC, .cgroup = 42, .scanned = 1000,
		.reclaimed = 100);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_CRITICAL); /* 30 % of the time */
	assert_non_null(strstr(f->title, "victim (pid 7) lost 3.00 s to cgroup reclaim"));
	assert_true(
		says(f->try_, "echo 150994944 > /sys/fs/cgroup/memory/demo/memory.limit_in_bytes"));
	assert_true(
		says(f->undo, "echo 100663296 > /sys/fs/cgroup/memory/demo/memory.limit_in_bytes"));
	end(&b);
}

static void test_reclaim_global(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_reclaim_stalls, 1);
	value(&b, SYSTEM_SYSCTL, "vm.watermark_scale_factor", 10, NULL);
	value(&b, SYSTEM_VMSTAT, "allocstall_normal", 100, NULL);
	value(&b, SYSTEM_VMSTAT, "allocstall_normal", 150, NULL);
	PUT(&b, struct reclaim_agg, REC_RECLAIM_AGG, .tgid = 7, .kind = RECLAIM_DIRECT, .count = 50,
		.total_ns = NSEC_PER_SEC, .max_ns = NSEC_PER_SEC / 10);
	/* kswapd is nobody's stall */
	PUT(&b, struct reclaim_agg, REC_RECLAIM_AGG, .tgid = 50, .kind = RECLAIM_KSWAPD,
		.count = 50, .total_ns = 9 * NSEC_PER_SEC);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_true(says(f->evidence, "counts 50 such stalls"));
	assert_true(says(f->try_, "vm.watermark_scale_factor=50"));
	assert_true(says(f->undo, "vm.watermark_scale_factor=10"));
	end(&b);
}

static void test_reclaim_thin(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_reclaim_stalls, 1);
	PUT(&b, struct reclaim_agg, REC_RECLAIM_AGG, .tgid = 7, .kind = RECLAIM_DIRECT, .count = 2,
		.total_ns = NSEC_PER_SEC);
	assert_int_equal(conclude(&b), 0); /* two stalls are no pattern */
	end(&b);
}

static void grow(struct bench *b, const double mib[], int n)
{
	for (int i = 0; i < n; i++) {
		struct process_memory m = {
			.h = {sizeof(m), REC_PROCESS_MEMORY, 0,
				NSEC_PER_SEC + (u64)i * NSEC_PER_SEC / 2},
			.tgid = 7,
			.anon_bytes = (u64)(mib[i] * (double)MIB),
		};

		put(b, &m);
	}
}

static void test_growth(void **unused)
{
	static const double steady[] = {10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32};
	static const double step[] = {10, 10, 10, 10, 10, 40, 40, 40, 40, 40, 40, 40};
	static const double few[] = {10, 20, 30};
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_growth, 1);
	grow(&b, steady, ARRAY_SIZE(steady));
	value(&b, SYSTEM_MEMINFO, "MemAvailable", 1024 * MIB, NULL);
	f = only(&b);
	assert_non_null(strstr(f->title, "victim (pid 7) grows steadily: 4.00 MiB"));
	assert_null(strstr(f->title, "leak"));
	assert_int_equal(f->level, LEVEL_WARNING); /* 256 s until nothing is available */
	end(&b);

	begin(&b, &rule_growth, 1);
	grow(&b, step, ARRAY_SIZE(step));
	assert_int_equal(conclude(&b), 0); /* one step is no slope */
	end(&b);

	begin(&b, &rule_growth, 1);
	grow(&b, few, ARRAY_SIZE(few));
	assert_int_equal(conclude(&b), 0); /* too few samples */
	end(&b);
}

/* 100,000 free pages, none in a block above order 1. */
static void fragmented_zone(struct bench *b)
{
	struct frag_zone z = {
		.h = {sizeof(z), REC_FRAG_ZONE, 0, NSEC_PER_SEC},
		.zone = "Normal",
		.flags = FRAG_MARKS,
		.orders = 11,
		.free_pages = 100000,
		.min_pages = 1000,
		.low_pages = 2000,
		.high_pages = 3000,
		.managed_pages = 1000000,
		.free_blocks = {60000, 20000},
	};

	put(b, &z);
}

static void test_fragmentation(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_fragmentation, 1);
	value(&b, SYSTEM_SYSCTL, "vm.min_free_kbytes", 67584, NULL);
	fragmented_zone(&b);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_true(says(f->evidence, "unusable 1.000 at order 3"));
	/* three pageblocks of 2 MiB on one node */
	assert_true(says(f->try_, "vm.min_free_kbytes=73728"));
	assert_true(says(f->undo, "vm.min_free_kbytes=67584"));
	end(&b);

	/* Near 5 % of memory (409.6 MiB) there is no such step. */
	begin(&b, &rule_fragmentation, 1);
	value(&b, SYSTEM_SYSCTL, "vm.min_free_kbytes", 418000, NULL);
	fragmented_zone(&b);
	f = only(&b);
	assert_false(says(f->try_, "min_free_kbytes"));
	end(&b);
}

static void test_severe_events(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_fragmentation, 1);
	PUT(&b, struct frag_agg, REC_FRAG_AGG, .tgid = 7, .order = 0, .fallback_order = 3,
		.count = 500);
	PUT(&b, struct frag_agg, REC_FRAG_AGG, .tgid = 8, .order = 0, .fallback_order = 10,
		.count = 900);
	f = only(&b);
	assert_non_null(strstr(f->title, "500 severe"));
	assert_true(says(f->evidence, "victim (pid 7)"));
	end(&b);

	begin(&b, &rule_fragmentation, 1);
	PUT(&b, struct frag_agg, REC_FRAG_AGG, .tgid = 8, .order = 0, .fallback_order = 10,
		.count = 900);
	assert_int_equal(conclude(&b), 0); /* whole pageblocks: no harm */
	end(&b);
}

static void test_major_faults(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_major_faults, 1);
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_MAJOR, .count = 1000,
		.timed = 1000, .total_ns = 5 * NSEC_PER_SEC, .max_ns = NSEC_PER_SEC,
		.file = "data.db");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_true(says(f->evidence, "data.db"));
	end(&b);

	begin(&b, &rule_major_faults, 1);
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .count = 100000, .timed = 100000,
		.total_ns = 5 * NSEC_PER_SEC);
	assert_int_equal(conclude(&b), 0); /* minor faults wait for nobody */
	end(&b);
}

static void test_pressure(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_pressure, 1);
	PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY,
		.some_total_us = 1000000);
	PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_IO,
		.some_total_us = 90000000);
	PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY,
		.some_total_us = 2500000, .full_total_us = 100000);
	assert_int_equal(only(&b)->level, LEVEL_WARNING); /* 15 % of 10 s */
	assert_int_equal(b.report.not_checked.n, 0);
	end(&b);
}

static void test_cgroup_limit(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 1, .version = 2,
		.usage_bytes = MIB, .limit_bytes = 100 * MIB, .oom_kill_total = 3,
		.first_oom_kill_total = 2);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 2, .version = 2,
		.usage_bytes = 60 * MIB, .limit_bytes = 100 * MIB);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 3, .version = 2,
		.usage_bytes = 900 * MIB, .limit_bytes = CGROUP_USAGE_NONE);
	assert_int_equal(only(&b)->level, LEVEL_CRITICAL);
	end(&b);
}

static void test_thp(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_thp, 1);
	value(&b, SYSTEM_SETTING, "thp/defrag", 0, "always");
	value(&b, SYSTEM_VMSTAT, "compact_stall", 0, NULL);
	value(&b, SYSTEM_VMSTAT, "compact_stall", 100, NULL);
	value(&b, SYSTEM_VMSTAT, "thp_fault_alloc", 0, NULL);
	value(&b, SYSTEM_VMSTAT, "thp_fault_alloc", 50, NULL);
	assert_true(says(only(&b)->undo, "echo always >"));
	end(&b);
}

static void test_slab(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_slab_growth, 1);
	value(&b, SYSTEM_MEMINFO, "Slab", 100 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "Slab", 200 * MIB, NULL);
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 150 * MIB, .first_bytes = 60 * MIB,
		.name = "dentry");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE); /* all of it can be reclaimed */
	assert_true(says(f->evidence, "cache dentry grew most"));
	end(&b);
}

static void test_numa(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_numa_placement, 2);
	PUT(&b, struct process_numa, REC_PROCESS_NUMA, .tgid = 7, .nodes = 2,
		.resident_pages = {100, 100000}, .threads = {4, 0}, .comm = "victim");
	PUT(&b, struct process_numa, REC_PROCESS_NUMA, .tgid = 8, .nodes = 2,
		.resident_pages = {100000, 100}, .threads = {4, 0}, .comm = "local");
	assert_non_null(strstr(only(&b)->title, "victim (pid 7) has 100 %"));
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_reclaim_memcg),
		cmocka_unit_test(test_reclaim_global),
		cmocka_unit_test(test_reclaim_thin),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_fragmentation),
		cmocka_unit_test(test_severe_events),
		cmocka_unit_test(test_major_faults),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_cgroup_limit),
		cmocka_unit_test(test_thp),
		cmocka_unit_test(test_slab),
		cmocka_unit_test(test_numa),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
