/* The rules of check on synthetic records: each speaks when it should, and stays silent else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "event/stream.h"
#include "probes/cache/cache.h"
#include "probes/faults/faults.h"
#include "probes/frag/frag.h"
#include "probes/holders/holders.h"
#include "probes/lookups/lookups.h"
#include "probes/oom/oom.h"
#include "probes/processes/processes.h"
#include "probes/thp/thp.h"
#include "probes/stalls/stalls.h"
#include "probes/where/where.h"
#include "rules/facts.h"
#include "rules/rules.h"

#include "rules/rules_fixture.h"

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

	(void)unused;
	begin(&b, &rule_stalls, 1);
	group(&b, 42, "/demo");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 1,
		.usage_bytes = 96 * MIB, .limit_bytes = 96 * MIB);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_CHARGE, .count = 100,
		.total_ns = 3 * NSEC_PER_SEC, .max_ns = NSEC_PER_SEC, .cgroup = 42,
		.reclaim_ns = 3 * NSEC_PER_SEC, .scanned = 1000, .reclaimed = 100);
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
	begin(&b, &rule_stalls, 1);
	value(&b, SYSTEM_SYSCTL, "vm.watermark_scale_factor", 10, NULL);
	value(&b, SYSTEM_VMSTAT, "allocstall_normal", 100, NULL);
	value(&b, SYSTEM_VMSTAT, "allocstall_normal", 150, NULL);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_ALLOCATION,
		.count = 50, .total_ns = NSEC_PER_SEC, .reclaim_ns = NSEC_PER_SEC,
		.max_ns = NSEC_PER_SEC / 10, .scanned = 100, .reclaimed = 50);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_true(says(f->evidence, "counts 50 direct reclaims"));
	assert_true(says(f->try_, "vm.watermark_scale_factor=50"));
	assert_true(says(f->undo, "vm.watermark_scale_factor=10"));
	end(&b);
}

/* Reclaim that finds nothing to free, reclaim for large blocks: no watermark helps there. */
static void test_reclaim_causes(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_stalls, 1);
	value(&b, SYSTEM_SYSCTL, "vm.watermark_scale_factor", 10, NULL);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_ALLOCATION,
		.count = 50, .total_ns = NSEC_PER_SEC, .reclaim_ns = NSEC_PER_SEC, .scanned = 1000,
		.reclaimed = 50, .outcome = STALLS_FAILED);
	f = only(&b);
	assert_true(says(f->evidence, "50 of them failed"));
	assert_false(says(f->try_, "watermark_scale_factor"));
	assert_true(says(f->try_, "Use less memory"));
	end(&b);

	begin(&b, &rule_stalls, 1);
	value(&b, SYSTEM_SYSCTL, "vm.extfrag_threshold", 500, NULL);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_ALLOCATION, .order = 5,
		.count = 50, .total_ns = NSEC_PER_SEC, .reclaim_ns = NSEC_PER_SEC, .scanned = 100,
		.reclaimed = 50);
	f = only(&b);
	assert_true(says(f->try_, "vm.extfrag_threshold=250"));
	assert_true(says(f->undo, "vm.extfrag_threshold=500"));
	end(&b);
}

static void test_compaction(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_stalls, 1);
	value(&b, SYSTEM_SYSCTL, "vm.min_free_kbytes", 45056, NULL);
	value(&b, SYSTEM_MEMINFO, "MemFree", 2048 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "MemTotal", 8192 * MIB, NULL);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_ALLOCATION, .order = 9,
		.count = 50, .total_ns = NSEC_PER_SEC, .reclaim_ns = NSEC_PER_SEC / 10,
		.compact_ns = NSEC_PER_SEC / 10 * 9, .migrated = 1234);
	f = only(&b);
	assert_string_equal(f->rule, "compaction-stalls");
	assert_non_null(strstr(f->title, "lost 1.00 s to compaction"));
	assert_true(says(f->evidence, "2.00 GiB of 8.00 GiB was free"));
	assert_true(says(f->evidence, "up to 2^9 pages: 1234 pages moved"));
	assert_true(says(f->try_, "vm.min_free_kbytes=51200"));
	assert_true(says(f->undo, "vm.min_free_kbytes=45056"));
	end(&b);

	begin(&b, &rule_stalls, 1);
	value(&b, SYSTEM_SETTING, "thp/defrag", 0, "always");
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_ALLOCATION, .order = 9,
		.trigger = STALLS_FOR_FAULT, .count = 50, .total_ns = NSEC_PER_SEC,
		.compact_ns = NSEC_PER_SEC);
	f = only(&b);
	assert_false(says(f->evidence, " in reclaim: ")); /* none of it was */
	assert_non_null(strstr(f->title, "to compaction: 10.0 % of the time"));
	assert_true(says(f->try_, "echo defer+madvise > "));
	assert_true(says(f->undo, "echo always > "));
	end(&b);
}

/* Several threads wait at once: no share of the time is above all of it. */
static void test_reclaim_threads(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_stalls, 1);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_ALLOCATION,
		.count = 500, .total_ns = 28 * NSEC_PER_SEC, .reclaim_ns = 28 * NSEC_PER_SEC,
		.scanned = 100, .reclaimed = 50);
	assert_string_equal(only(&b)->title, "victim (pid 7) lost 28.0 s to direct reclaim: "
					     "2.8 tasks held up on average");
	end(&b);
}

static void test_reclaim_thin(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_stalls, 1);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_ALLOCATION, .count = 2,
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
	assert_true(says(f->try_, "memwhy leak -p 7 --for 60s"));
	assert_true(says(f->try_, "memwhy maps --stacks=user --for 60s -p 7"));
	assert_null(strstr(f->title, "leak"));
	assert_int_equal(f->level, LEVEL_WARNING); /* 256 s until nothing is available */
	end(&b);

	/* The code path with the most faults is not the one with the most at once. */
	begin(&b, &rule_growth, 1);
	grow(&b, steady, ARRAY_SIZE(steady));
	for (int i = 0; i < 9; i++)
		PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_WRITE,
			.map = MAPPING_HEAP, .stack = 5, .count = 10);
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_WRITE,
		.map = MAPPING_HEAP, .stack = 6, .count = 30);
	f = only(&b);
	assert_true(says(f->evidence, "(75 % of the sampled faults)"));
	assert_true(says(f->evidence, "and no further"));
	end(&b);

	begin(&b, &rule_growth, 1);
	grow(&b, steady, ARRAY_SIZE(steady));
	stack(&b, 5);
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_WRITE,
		.map = MAPPING_HEAP, .stack = 5, .count = 10);
	f = only(&b);
	assert_true(says(f->evidence, "at 0x1000"));
	assert_true(says(f->evidence, "from 0x2000"));
	assert_false(says(f->evidence, "?"));
	assert_false(says(f->evidence, "no further"));
	end(&b);

	/* A stack that needs no frame pointers is preferred, unless there are too few. */
	begin(&b, &rule_growth, 1);
	grow(&b, steady, ARRAY_SIZE(steady));
	stack(&b, 5);
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_WRITE,
		.map = MAPPING_HEAP, .stack = 6, .count = 10);
	PUT(&b, struct process_path, REC_PROCESS_PATH, .tgid = 7, .stack = 5, .count = 30,
		.samples = 40);
	PUT(&b, struct process_path, REC_PROCESS_PATH, .tgid = 7, .stack = 6, .count = 10,
		.samples = 40);
	f = only(&b);
	assert_true(says(f->evidence, "most new pages (30 of 40 sampled faults)"));
	assert_true(says(f->evidence, "from 0x2000"));
	end(&b);

	begin(&b, &rule_growth, 1);
	grow(&b, steady, ARRAY_SIZE(steady));
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_WRITE,
		.map = MAPPING_HEAP, .stack = 6, .count = 10);
	PUT(&b, struct process_path, REC_PROCESS_PATH, .tgid = 7, .stack = 5, .count = 3,
		.samples = 3);
	f = only(&b);
	assert_true(says(f->evidence, "most new pages (100 % of the sampled faults)"));
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
	assert_true(says(f->try_, "compact_memory"));
	end(&b);

	/* … nor is there any use in what fails all the time. */
	begin(&b, &rule_fragmentation, 1);
	value(&b, SYSTEM_SYSCTL, "vm.min_free_kbytes", 418000, NULL);
	for (u64 n = 0; n <= 63; n += 63) {
		value(&b, SYSTEM_VMSTAT, "compact_stall", n, NULL);
		value(&b, SYSTEM_VMSTAT, "compact_fail", n, NULL);
	}
	fragmented_zone(&b);
	f = only(&b);
	assert_false(says(f->try_, "compact_memory"));
	assert_true(says(f->try_, "Compaction fails in 63 of 63 runs"));
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_false(f->symptom);
	end(&b);

	/* Where idle huge pages have most of memory, what they leave is small: see these first. */
	begin(&b, &rule_fragmentation, 1);
	for (u64 n = 0; n <= 63; n += 63)
		value(&b, SYSTEM_VMSTAT, "compact_stall", n, NULL);
	value(&b, SYSTEM_COUNT, "hugepages/2M/free", 1800, NULL);
	value(&b, SYSTEM_COUNT, "hugepages/2M/resv", 100, NULL);
	fragmented_zone(&b);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_true(f->symptom);
	assert_int_equal(f->losses, LOSS_COMPACTION);
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
	PUT(&b, struct frag_agg, REC_FRAG_AGG, .tgid = 9, .order = 0, .fallback_order = 9,
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

	begin(&b, &rule_major_faults, 1);
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .flags = FAULT_MAJOR | FAULT_NAMED,
		.count = 1000, .timed = 1000, .total_ns = 5 * NSEC_PER_SEC, .comm = "sh");
	assert_int_equal(conclude(&b), 0); /* of nobody in particular */
	end(&b);
}

static void group_paths(struct bench *b)
{
	group(b, 41, "/jobs");
	group(b, 42, "/jobs/reader");
	group(b, 43, "/jobs/read");
}

static void pages_read(struct bench *b, u64 id, u64 refaults)
{
	begin(b, &rule_major_faults, 1);
	group_paths(b);
	PUT(b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = id, .version = 2,
		.limit_bytes = 96 * MIB, .refault_file_total = 100 + refaults,
		.first_refault_file_total = 100);
	PUT(b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_MAJOR, .count = 1000,
		.timed = 1000, .total_ns = 5 * NSEC_PER_SEC, .cgroup = 42, .map = MAPPING_FILE);
}

/* Pages that the group pushed out: that is why, not the reader. First reads are nobody's fault. */
static void test_major_faults_again(void **unused)
{
	struct bench b;

	(void)unused;
	pages_read(&b, 42, 900);
	assert_true(only(&b)->symptom);
	assert_int_equal(b.report.findings.v[0].losses, LOSS_REFAULT);
	assert_int_equal(b.report.findings.v[0].cgroup, 42);
	end(&b);
	pages_read(&b, 41, 900); /* the one above */
	assert_true(only(&b)->symptom);
	end(&b);
	pages_read(&b, 43, 900); /* another one */
	assert_false(only(&b)->symptom);
	end(&b);
	pages_read(&b, 42, 400); /* most for the first time */
	assert_false(only(&b)->symptom);
	end(&b);
	pages_read(&b, 43, 0);
	value(&b, SYSTEM_VMSTAT, "workingset_refault_file", 10, NULL);
	value(&b, SYSTEM_VMSTAT, "workingset_refault_file", 910, NULL); /* the machine does */
	assert_true(only(&b)->symptom);
	end(&b);
	pages_read(&b, 43, 800);
	value(&b, SYSTEM_VMSTAT, "workingset_refault_file", 10, NULL);
	value(&b, SYSTEM_VMSTAT, "workingset_refault_file", 910, NULL); /* mostly the other one's */
	assert_false(only(&b)->symptom);
	end(&b);
}

static void counters(struct bench *b, u64 in, u64 refaults)
{
	value(b, SYSTEM_VMSTAT, "pswpin", 1000, NULL);
	value(b, SYSTEM_VMSTAT, "workingset_refault_anon", 10, NULL);
	value(b, SYSTEM_VMSTAT, "pswpin", 1000 + in, NULL);
	value(b, SYSTEM_VMSTAT, "workingset_refault_anon", 10 + refaults, NULL);
	value(b, SYSTEM_SYSCTL, "vm.page-cluster", 3, NULL);
	value(b, SYSTEM_SYSCTL, "vm.swappiness", 60, NULL);
	value(b, SYSTEM_SETTING, "zswap/enabled", 0, "N");
}

static void swapped_in(struct bench *b, u8 map, u64 ns)
{
	PUT(b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_MAJOR, .count = 1000,
		.timed = 1000, .total_ns = ns, .map = map, .cgroup = 42);
}

static void test_swap(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_swap, 1);
	counters(&b, 5000, 4000);
	swapped_in(&b, MAPPING_HEAP, 3 * NSEC_PER_SEC);
	PUT(&b, struct rec_task, REC_TASK, .tgid = 8, .comm = "hog");
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 8, .h.flags = PROCESS_EXACT,
		.swap_bytes = 300 * MIB, .first_anon_bytes = MIB, .anon_bytes = 201 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING); /* 30 % of the time */
	assert_int_equal(f->cost_ns, 3 * NSEC_PER_SEC);
	assert_non_null(strstr(f->title, "Thrashing: tasks waited 3.00 s"));
	assert_true(says(f->evidence, "5000 pages came back from swap, 500 a second"));
	assert_true(says(f->evidence, "80 % of them were refaults"));
	assert_true(says(f->evidence, "who pays: victim (pid 7) 3.00 s"));
	assert_true(says(f->evidence, "who grows: hog (pid 8) 200 MiB"));
	assert_true(says(f->evidence, "who has the most in swap: hog (pid 8) 300 MiB"));
	assert_true(says(f->try_, "(now 60): `sysctl -w vm.swappiness=10`"));
	assert_true(says(f->undo, "`sysctl -w vm.swappiness=60`"));
	assert_true(says(f->undo, "`sysctl -w vm.page-cluster=3`"));
	assert_true(says(f->undo, "echo N > /sys/module/zswap/parameters/enabled"));
	assert_true(says(f->verify, "memwhy swap --for 30s"));
	end(&b);
}

/* At the limit of the group, or of one above it, or at its memory.high. */
static void test_swap_at_limit(void **unused)
{
	static const struct {
		u64 max, high, high_hits, cgroup;
		const char *title, *try;
	} cases[] = {
		{50 * MIB, CGROUP_USAGE_NONE, 0, 42, "at the limit of cgroup /app (50.0 MiB)",
			"/app/memory.max"},
		{50 * MIB, CGROUP_USAGE_NONE, 0, 43, "at the limit of cgroup /app (50.0 MiB)",
			"/app/memory.max"},
		{CGROUP_USAGE_NONE, 50 * MIB, 9, 43, "at the limit of cgroup /app (50.0 MiB)",
			"/app/memory.high"},
		{CGROUP_USAGE_NONE, 50 * MIB, 0, 43, NULL, "vm.swappiness"},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_swap, 1);
		group(&b, 42, "/app");
		group(&b, 43, "/app/one");
		counters(&b, 5000, 4000);
		swapped_in(&b, MAPPING_HEAP, 3 * NSEC_PER_SEC);
		PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7,
			.cgroup = cases[i].cgroup);
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 2,
			.usage_bytes = 50 * MIB, .limit_bytes = cases[i].max,
			.high_bytes = cases[i].high, .high_hit_total = cases[i].high_hits);
		f = only(&b);
		assert_int_equal(!!strstr(f->title, "at the limit of"), !!cases[i].title);
		assert_true(!cases[i].title || strstr(f->title, cases[i].title));
		assert_true(says(f->try_, cases[i].try));
		end(&b);
	}
}

/* What is out would fit into the idle pools of huge pages: these are why. */
static void test_swap_beside_pools(void **unused)
{
	(void)unused;
	for (u64 left = 0; left < 2; left++) {
		struct bench b;

		begin(&b, &rule_swap, 1);
		counters(&b, 5000, 4000);
		value(&b, SYSTEM_COUNT, "hugepages/2M/free", 1 << 20, NULL);
		value(&b, SYSTEM_COUNT, "SwapTotal", 4ULL << 40, NULL);
		value(&b, SYSTEM_COUNT, "SwapFree", left ? (4ULL << 40) - 300 * MIB : 1ULL << 40,
			NULL);
		swapped_in(&b, MAPPING_HEAP, 3 * NSEC_PER_SEC);
		assert_int_equal(only(&b)->symptom, left);
		end(&b);
	}
}

/* The setting has it swap rather than drop files. */
static void test_swappiness(void **unused)
{
	(void)unused;
	for (u64 files = 100; files <= 1000; files += 900) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_swap, 1);
		counters(&b, 5000, 4000);
		value(&b, SYSTEM_SYSCTL, "vm.swappiness", 180, NULL);
		value(&b, SYSTEM_MEMINFO, "AnonPages", 1000 * MIB, NULL);
		value(&b, SYSTEM_MEMINFO, "Inactive(file)", files * MIB, NULL);
		swapped_in(&b, MAPPING_HEAP, 3 * NSEC_PER_SEC);
		f = only(&b);
		assert_int_equal(
			!!strstr(f->title,
				"while 1000 MiB of file cache stays, with vm.swappiness 180"),
			files == 1000);
		assert_int_equal(says(f->try_, "`sysctl -w vm.swappiness=60`"), files == 1000);
		end(&b);
	}
}

/* What is not thrashing: pages long gone that come back, few pages, little time, files. */
static void test_swap_quiet(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_swap, 1);
	counters(&b, 5000, 100);
	swapped_in(&b, MAPPING_ANON, 3 * NSEC_PER_SEC);
	assert_int_equal(only(&b)->level, LEVEL_RISK);
	assert_null(strstr(b.report.findings.v[0].title, "hrashing"));
	end(&b);

	begin(&b, &rule_swap, 1);
	counters(&b, 5000, 5000);
	value(&b, SYSTEM_VMSTAT, "pgsteal_anon", 10, NULL);
	value(&b, SYSTEM_VMSTAT, "pgsteal_anon", 200, NULL); /* gone before, whatever is counted */
	swapped_in(&b, MAPPING_ANON, 3 * NSEC_PER_SEC);
	assert_int_equal(only(&b)->level, LEVEL_RISK);
	assert_null(strstr(b.report.findings.v[0].title, "hrashing"));
	assert_true(says(b.report.findings.v[0].evidence, "it was swapped out before this run"));
	end(&b);

	begin(&b, &rule_swap, 1);
	counters(&b, 5000, 5000);
	swapped_in(&b, MAPPING_ANON, NSEC_PER_SEC / 10);
	assert_int_equal(conclude(&b), 0);
	end(&b);

	begin(&b, &rule_swap, 1);
	counters(&b, 50, 50);
	swapped_in(&b, MAPPING_ANON, 3 * NSEC_PER_SEC);
	assert_int_equal(conclude(&b), 0);
	end(&b);

	begin(&b, &rule_swap, 1);
	counters(&b, 5000, 5000);
	swapped_in(&b, MAPPING_FILE, 3 * NSEC_PER_SEC);
	value(&b, SYSTEM_MEMINFO, "SwapTotal", 1024 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "SwapFree", 100 * MIB, NULL);
	assert_int_equal(conclude(&b), 0); /* used, and quiet */
	end(&b);

	begin(&b, &rule_major_faults, 1);
	swapped_in(&b, MAPPING_HEAP, 3 * NSEC_PER_SEC);
	assert_int_equal(conclude(&b), 0); /* the other rule's */
	end(&b);

	begin(&b, &rule_major_faults, 1); /* pages of files, while others swap */
	counters(&b, 5000, 5000);
	swapped_in(&b, MAPPING_FILE, 3 * NSEC_PER_SEC);
	assert_non_null(strstr(only(&b)->why, "mapped files"));
	end(&b);
}

static void test_swap_limit(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_swap, 1);
	group(&b, 42, "/demo");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 2,
		.usage_bytes = 96 * MIB, .limit_bytes = 96 * MIB);
	counters(&b, 5000, 5000);
	swapped_in(&b, MAPPING_ANON, 7 * NSEC_PER_SEC);
	/* A compiler outside of the group has nothing to do with it. */
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 8, .cgroup = 43,
		.first_anon_bytes = MIB, .anon_bytes = 400 * MIB);
	/* What comes back from swap is no growth: 90 of its 91 MiB were there. */
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 9, .cgroup = 42,
		.h.flags = PROCESS_EXACT, .swap_bytes = 90 * MIB, .first_anon_bytes = 10 * MIB,
		.anon_bytes = 10 * MIB);
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 9, .cgroup = 42,
		.h.flags = PROCESS_EXACT, .swap_bytes = 20 * MIB, .first_anon_bytes = 10 * MIB,
		.anon_bytes = 81 * MIB);
	f = only(&b);
	assert_false(says(f->evidence, "(pid 8)"));
	assert_true(says(f->evidence, "who grows: ? (pid 9) 1.00 MiB"));
	assert_int_equal(f->level, LEVEL_CRITICAL);
	assert_true(says(f->try_, "echo 150994944 > /sys/fs/cgroup/demo/memory.max"));
	assert_true(says(f->undo, "echo 100663296 > /sys/fs/cgroup/demo/memory.max"));
	end(&b);
}

static void test_swap_full(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_swap, 1);
	value(&b, SYSTEM_MEMINFO, "SwapTotal", 1024 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "SwapFree", 10 * MIB, NULL);
	value(&b, SYSTEM_VMSTAT, "pswpout", 0, NULL);
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7, .h.flags = PROCESS_EXACT,
		.swap_bytes = 900 * MIB);
	f = only(&b);
	assert_string_equal(f->rule, "swap-full");
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "10.0 MiB of 1.00 GiB"));
	assert_true(says(f->evidence, "victim (pid 7) 900 MiB"));
	end(&b);

	begin(&b, &rule_swap, 1);
	value(&b, SYSTEM_MEMINFO, "SwapTotal", 1024 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "SwapFree", 0, NULL);
	value(&b, SYSTEM_VMSTAT, "pswpout", 0, NULL);
	value(&b, SYSTEM_VMSTAT, "pswpout", 1000, NULL);
	assert_int_equal(only(&b)->level, LEVEL_WARNING); /* still filling */
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

/* Where the kernel tells it by group, the innermost one that has most of it is told. */
static void test_pressure_of_group(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (u64 machine = 2; machine <= 8; machine += 6) {
		begin(&b, &rule_pressure, 1);
		named(&b, 41, "/shop");
		named(&b, 42, "/shop/db");
		PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY);
		PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY,
			.some_total_us = machine * 1000000);
		for (u32 level = 1; level <= 2; level++) {
			struct cgroup_usage cg = {
				.h = {sizeof(cg), REC_CGROUP_MEMORY, CGROUP_HAS_PRESSURE, 0},
				.cgroup = 40 + level,
				.version = 2,
				.level = level,
				.limit_bytes = CGROUP_USAGE_NONE,
				.first_some_total_us = 1000,
				.some_total_us = 2001000 - level * 1000};

			put(&b, &cg);
		}
		assert_int_equal(conclude(&b), machine == 2 ? 1 : 2);
		f = &b.report.findings.v[0];
		assert_true(f->symptom);
		assert_int_equal(f->cgroup, 42);
		assert_non_null(strstr(
			f->title, "Tasks of cgroup /shop/db waited for memory 20.0 % of the time"));
		end(&b);
	}
}

/* One that is hit and costs nothing, two that have room, one that has no limit. */
static void test_cgroup_limit(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 1, .version = 2,
		.usage_bytes = MIB, .limit_bytes = 100 * MIB, .limit_hit_total = 3,
		.first_limit_hit_total = 2);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 2, .version = 2,
		.usage_bytes = 60 * MIB, .limit_bytes = 100 * MIB);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 3, .version = 2,
		.usage_bytes = 900 * MIB, .limit_bytes = CGROUP_USAGE_NONE);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 4, .version = 2,
		.usage_bytes = 99 * MIB, .limit_bytes = 100 * MIB, .h.flags = CGROUP_HAS_PARTS,
		.file_bytes = 90 * MIB, .anon_bytes = 9 * MIB);
	assert_int_equal(only(&b)->level, LEVEL_NOTE);
	end(&b);
}

/* read() of what does not fit waits for the disk, of which PSI of memory has little. A need past
 * any limit, as of a stream that begins anew, is none of this, nor are the waits of others. */
static void test_cgroup_disk_waits(void **unused)
{
	static const struct {
		u64 out_s, read_kib;
		int level;
		bool high; /* at memory.high */
	} cases[] = {{5, 40000, LEVEL_WARNING, false}, {5, 400000, LEVEL_RISK, false},
		{5, 4000000, LEVEL_NOTE, false}, {500, 40000, LEVEL_NOTE, false},
		{5, 40000, LEVEL_WARNING, true}, {5, 4000000, LEVEL_NOTE, true}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_cgroup_limit, 1);
		PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY);
		for (u64 us = 0; us <= 6000000; us += 6000000)
			PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_IO,
				.some_total_us = 7 + us);
		value(&b, SYSTEM_VMSTAT, "pgpgin", 10, NULL);
		value(&b, SYSTEM_VMSTAT, "pgpgin", 10 + cases[i].read_kib, NULL);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .cgroup = 4, .flags = CACHE_REFAULT,
			.count = 100, .total_ns = 100 * cases[i].out_s * NSEC_PER_SEC);
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 4,
			.version = cases[i].high ? 2 : 1, .h.flags = CGROUP_HAS_PARTS,
			.usage_bytes = 100 * MIB,
			.limit_bytes = cases[i].high ? CGROUP_USAGE_NONE : 100 * MIB,
			.high_bytes = cases[i].high ? 100 * MIB : CGROUP_USAGE_NONE,
			.file_bytes = 90 * MIB, .limit_hit_total = 9000, .first_limit_hit_total = 2,
			.high_hit_total = 9000, .refault_file_total = 10000);
		f = only(&b);
		assert_string_equal(f->rule, cases[i].high ? "memory-high" : "cgroup-limit");
		assert_int_equal(f->level, cases[i].level);
		assert_int_equal(says(f->evidence, "waited for a disk for 6.00 s"),
			cases[i].level == LEVEL_WARNING);
		end(&b);
	}
}

/* A file many times as large as the limit that is read over and over is a stream each time: whether
 * it was seen to come back, or had been out for longer than the look. */
static void test_cgroup_far(void **unused)
{
	static const struct {
		u64 back, out_s;
		bool far;
	} cases[] = {{100, 9, false}, {100, 90, true}, {3, 9, true}, {900, 1, false}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_cgroup_limit, 1);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .cgroup = 4, .count = 1000);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .cgroup = 4, .flags = CACHE_REFAULT,
			.count = cases[i].back,
			.total_ns = cases[i].back * cases[i].out_s * NSEC_PER_SEC);
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 4, .version = 1,
			.h.flags = CGROUP_HAS_PARTS, .usage_bytes = 40 * MIB,
			.limit_bytes = 40 * MIB, .file_bytes = 39 * MIB, .limit_hit_total = 9000,
			.first_limit_hit_total = 2, .refault_file_total = 105000);
		f = only(&b);
		assert_int_equal(f->level, cases[i].far ? LEVEL_NOTE : LEVEL_WARNING);
		assert_int_equal(!!strstr(f->title, "of files many times as large"), cases[i].far);
		end(&b);
	}
}

/* What comes back late is a stream that passes by files it has read before, if most of what is read
 * comes for the first time, or nobody waits; else the group is too small. */
static void test_cgroup_passes(void **unused)
{
	static const struct {
		u64 read, waited_us;
		bool late;
	} cases[] = {{1000, 500000, false}, {1000, 5000, true}, {4000, 500000, true}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_cgroup_limit, 10);
		for (u64 us = 0; us <= cases[i].waited_us; us += cases[i].waited_us)
			PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE,
				.resource = SYSTEM_MEMORY, .some_total_us = us);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .cgroup = 4, .count = cases[i].read);
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 4, .version = 1,
			.h.flags = CGROUP_HAS_PARTS, .usage_bytes = 100 * MIB,
			.limit_bytes = 100 * MIB, .file_bytes = 90 * MIB, .limit_hit_total = 9000,
			.first_limit_hit_total = 2, .refault_file_total = 60000);
		f = only(&b);
		assert_int_equal(f->level, cases[i].late ? LEVEL_NOTE : LEVEL_WARNING);
		assert_int_equal(
			!!strstr(f->title, "most of it not read again for long"), cases[i].late);
		end(&b);
	}
}

/* For whom the kernel keeps what fills a group: a program whose processes have it together; names
 * that do not exist, which fill any limit. Too few of either tell nothing. */
static void test_cgroup_kept(void **unused)
{
	enum { PROGRAM, NAMES, NAMES_OF_ONE, FEW_NAMES, OTHERS, KINDS };

	(void)unused;
	for (int k = 0; k < KINDS; k++) {
		bool names = k >= NAMES && k <= FEW_NAMES;
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_cgroup_limit, 1);
		string(&b, 1, "relay");
		named(&b, 4, "/app");
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 4, .version = 2,
			.usage_bytes = 99 * MIB, .limit_bytes = 100 * MIB,
			.h.flags = CGROUP_HAS_PARTS, .kernel_bytes = 90 * MIB,
			.anon_bytes = 5 * MIB, .limit_hit_total = 30, .first_limit_hit_total = 2);
		for (u32 i = 0; i < 5 && !names; i++)
			PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 10 + i, .name = 1,
				.cgroup = k == OTHERS ? 5 : 4, .pipe_bytes = (12 + i) * MIB);
		value(&b, SYSTEM_SETTING, "dentry/negative", names ? 400000 : 0, NULL);
		PUT(&b, struct lookups_sampled, REC_LOOKUPS_SAMPLED, .on_ns = NSEC_PER_SEC / 2);
		for (u32 i = 0; i < 4; i++)
			PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .cgroup = 4,
				.tgid = k == NAMES_OF_ONE ? 7 : 7 + i,
				.count = k == FEW_NAMES ? 100 : 500);
		f = only(&b);
		assert_int_equal(!!strstr(f->title,
					 ": relay (5 processes, pid 14 has the most) has 70.0 MiB "
					 "in unread pipes"),
			k == PROGRAM);
		assert_int_equal(f->tgid == 14, k == PROGRAM);
		assert_int_equal(
			!!strstr(f->title, ": its tasks look up 4000 nonexistent names a second"),
			k == NAMES);
		assert_int_equal(!!strstr(f->title, "(pid 7) looks up 4000 nonexistent names"),
			k == NAMES_OF_ONE);
		assert_int_equal(says(f->try_, "Raise the limit"), !names || k == FEW_NAMES);
		assert_non_null(f->undo[0]);
		end(&b);
	}
}

/* Cache that nobody reads again costs nothing, unless its writer waits for room most of the time.
 */
static void test_cgroup_stream(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	for (u64 ms = 500; ms <= 3000; ms *= 6) {
		begin(&b, &rule_cgroup_limit, 1);
		group(&b, 42, "/archive");
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS,
			.cgroup = 42, .version = 1, .usage_bytes = 100 * MIB,
			.limit_bytes = 100 * MIB, .limit_hit_total = 5000, .file_bytes = 95 * MIB,
			.dirty_bytes = 60 * MIB, .anon_bytes = MIB);
		PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_CHARGE,
			.count = 10, .total_ns = ms * NSEC_PER_MSEC, .cgroup = 42);
		f = only(&b);
		assert_int_equal(f->level, ms > 500 ? LEVEL_RISK : LEVEL_NOTE);
		assert_int_equal(says(f->try_, "Nothing needs to be done"), ms == 500);
		assert_int_equal(says(f->try_, "oflag=direct"), ms > 500);
		assert_non_null(strstr(f->title, "page cache, most of it not on disk yet"));
		assert_true(
			says(f->evidence, "60.0 MiB of its page cache is dirty (not yet on disk)"));
		end(&b);
	}
}

/* memory.failcnt was set back to 0 meanwhile: what was counted since is what is known. */
static void test_cgroup_limit_reset(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 4, .version = 1,
		.usage_bytes = 99 * MIB, .limit_bytes = 100 * MIB, .limit_hit_total = 7,
		.first_limit_hit_total = 1373, .refault_file_total = 5,
		.first_refault_file_total = 6);
	f = only(&b);
	assert_true(says(f->evidence, " 7 times"));
	assert_false(says(f->evidence, "1844674407"));
	end(&b);
}

/* Most of the memory is anonymous; what is read back again and again is files, or is not. */
static void test_cgroup_cache_left(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	for (u64 files = 0; files < 2; files++) {
		begin(&b, &rule_cgroup_limit, 1);
		group(&b, 42, "/demo");
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS,
			.cgroup = 42, .version = 1, .usage_bytes = 100 * MIB,
			.limit_bytes = 100 * MIB, .limit_hit_total = 5000, .file_bytes = 30 * MIB,
			.anon_bytes = 70 * MIB, .refault_file_total = files * 8000,
			.refault_anon_total = 1500);
		f = only(&b);
		assert_non_null(strstr(f->title, "70 % is memory of its processes (anonymous)"));
		assert_int_equal(!!strstr(f->title, ", leaving too little for page cache: "
						    "950 pages a second are read back"),
			files);
		assert_int_equal(!!strstr(f->why, "be read from disk again"), files);
		end(&b);
	}
}

/* What fills it, who, what it costs, and how much more it needs. */
static void test_cgroup_refaults(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	group(&b, 42, "/demo");
	group(&b, 43, "/demo/job");
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7, .start_ns = 5, .cgroup = 43,
		.rss_bytes = 30 * MIB, .first_anon_bytes = MIB, .anon_bytes = 20 * MIB);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS, .cgroup = 42,
		.version = 1, .usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB,
		.limit_hit_total = 5000, .file_bytes = 70 * MIB, .anon_bytes = 30 * MIB,
		.refault_file_total = 11240, .first_refault_file_total = 1000);
	PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 7, .kind = STALLS_CHARGE, .count = 10,
		.total_ns = 800 * NSEC_PER_MSEC, .cgroup = 43);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING); /* 8 % of the time */
	assert_int_equal(f->cost_ns, 800 * NSEC_PER_MSEC);
	assert_non_null(strstr(f->title, "hits its memory limit of 100 MiB: 70 % is page cache"));
	assert_non_null(strstr(f->title, "1024 pages a second are read back"));
	assert_false(says(f->evidence, "locked"));
	assert_true(says(f->evidence, "10240 pages (40.0 MiB) were needed again"));
	assert_true(says(f->evidence, "victim (pid 7) has 30.0 MiB resident in it, and grew "
				      "by 19.0 MiB"));
	assert_true(says(f->try_, "146800640"));
	assert_true(says(f->undo, "104857600"));
	end(&b);
}

/* A symptom goes below the cause of the same group, not of another one; what is lost is shared out.
 */
static void test_explain(void **unused)
{
	struct bench b;
	struct report *r = &b.report;
	struct finding *f;

	(void)unused;
	begin(&b, &rule_pressure, 1);
	report_init(r, "check", &b.stream);
	f = report_finding(r, LEVEL_RISK, "cgroup-limit");
	f->losses = LOSS_RECLAIM;
	f->cgroup = 42;
	f->cost_ns = NSEC_PER_SEC;
	f = report_finding(r, LEVEL_CRITICAL, "reclaim-stalls");
	f->title = "a job lost 3 s";
	f->symptom = true;
	f->losses = LOSS_RECLAIM;
	f->cgroup = 42;
	f->cost_ns = 3 * NSEC_PER_SEC;
	f = report_finding(r, LEVEL_CRITICAL, "reclaim-stalls");
	f->symptom = true;
	f->losses = LOSS_RECLAIM;
	f->cgroup = 43;
	f->cost_ns = NSEC_PER_SEC;
	f = report_finding(r, LEVEL_NOTE, "other");
	report_explain(r);
	report_rank(r);
	assert_int_equal(r->findings.n, 3);
	assert_string_equal(r->findings.v[0].rule, "cgroup-limit");
	assert_int_equal(r->findings.v[0].level, LEVEL_CRITICAL);
	assert_int_equal(r->findings.v[0].cost_ns, 3 * NSEC_PER_SEC);
	assert_true(says(r->findings.v[0].evidence, "effect: a job lost 3 s"));
	assert_true(says(r->findings.v[0].evidence, "explains 75 % of the 4.00 s"));
	assert_int_equal(r->findings.v[1].cgroup, 43);
	assert_string_equal(r->findings.v[2].rule, "other");
	end(&b);
}

/* What a group reclaims for its limit is nothing that grows elsewhere. */
static void test_explain_elsewhere(void **unused)
{
	static const struct {
		const char *grows, *reclaims;
		bool explains;
	} cases[] = {
		{"/app/web", "/app", true}, {"/app", "/app/web", true},
		{"/app/web", "/app/db", true}, {"/app", "/job", false},
		{"/app/web", "/job/web", false}, {"/", "/job", false},
		{NULL, "/job", true}, /* not known */
	};
	struct bench b;
	struct report *r = &b.report;
	struct finding *f;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(&b, &rule_pressure, 1);
		if (cases[i].grows)
			group(&b, 42, cases[i].grows);
		group(&b, 43, cases[i].reclaims);
		report_init(r, "check", &b.stream);
		f = report_finding(r, LEVEL_RISK, "growth");
		f->losses = LOSS_RECLAIM;
		f->home = cases[i].grows ? 42 : 0;
		f = report_finding(r, LEVEL_CRITICAL, "reclaim-stalls");
		f->symptom = true;
		f->losses = LOSS_RECLAIM;
		f->cgroup = 43;
		report_explain(r);
		assert_int_equal(r->findings.n, cases[i].explains ? 1 : 2);
		end(&b);
	}
}

/* What costs many times as much time comes first, also where its rule thinks less of it. */
static void test_explain_rank(void **unused)
{
	struct bench b;
	struct report *r = &b.report;
	struct finding *f;

	(void)unused;
	for (u64 parts = 2; parts <= 8; parts += 6) {
		begin(&b, &rule_pressure, 1);
		report_init(r, "check", &b.stream);
		f = report_finding(r, LEVEL_WARNING, "cgroup-limit");
		f->cost_ns = NSEC_PER_SEC;
		f = report_finding(r, LEVEL_RISK, "copy-on-write");
		f->cost_ns = parts * NSEC_PER_SEC;
		f = report_finding(r, LEVEL_WARNING, "oom");
		f->cost_ns = 1;
		f->losses = LOSS_KILLED;
		report_explain(r);
		report_rank(r);
		assert_string_equal(r->findings.v[parts == 2 ? 0 : 1].rule,
			parts == 2 ? "cgroup-limit" : "copy-on-write");
		assert_string_equal(r->findings.v[parts == 2 ? 1 : 0].rule, "oom");
		end(&b);
	}
}

/* A heap that lies in swap goes below what fills the group; what may be done about it stays. */
static void test_explain_advises(void **unused)
{
	struct bench b;
	struct report *r = &b.report;
	struct finding *f;

	(void)unused;
	begin(&b, &rule_pressure, 1);
	report_init(r, "check", &b.stream);
	f = report_finding(r, LEVEL_WARNING, "swap");
	f->losses = LOSS_SWAP;
	finding_line(r, f->try_, "Give it memory.");
	f = report_finding(r, LEVEL_RISK, "garbage-collection");
	f->losses = LOSS_SWAP;
	f->symptom = f->advises = true;
	f->tgid = 7;
	finding_line(r, f->try_, "Start it with a heap that fits: -Xmx150m");
	report_explain(r);
	report_rank(r);
	assert_int_equal(r->findings.n, 1);
	f = &r->findings.v[0];
	assert_string_equal(f->rule, "swap");
	assert_string_equal(f->try_[0], "Give it memory.");
	assert_string_equal(
		f->try_[1], "For victim (pid 7): Start it with a heap that fits: -Xmx150m");
	end(&b);
}

/* A limit that is hit goes below who hits it, where that is known, and what is work anybody wants
 * done gets no worse by what it costs. */
static void test_explain_yields(void **unused)
{
	struct bench b;
	struct report *r = &b.report;
	struct finding *f;

	(void)unused;
	for (u64 group = 42; group < 44; group++) {
		begin(&b, &rule_pressure, 1);
		report_init(r, "check", &b.stream);
		f = report_finding(r, LEVEL_WARNING, "cgroup-limit");
		f->losses = LOSS_RECLAIM | LOSS_REFAULT;
		f->cgroup = 42;
		f->yields = true;
		f = report_finding(r, LEVEL_RISK, "page-cache");
		f->losses = LOSS_REFAULT;
		f->cgroup = group;
		f = report_finding(r, LEVEL_RISK, "reclaim-stalls"); /* it explains what that did */
		f->losses = LOSS_RECLAIM;
		f->cgroup = 42;
		f->symptom = true;
		report_explain(r);
		report_rank(r);
		assert_int_equal(r->findings.n, group == 42 ? 1 : 2);
		assert_string_equal(
			r->findings.v[0].rule, group == 42 ? "page-cache" : "cgroup-limit");
		assert_int_equal(r->findings.v[0].level, LEVEL_WARNING);
		end(&b);
	}
	begin(&b, &rule_pressure, 1);
	report_init(r, "check", &b.stream);
	f = report_finding(r, LEVEL_NOTE, "cgroup-limit");
	f->losses = LOSS_RECLAIM;
	f->benign = true;
	f = report_finding(r, LEVEL_CRITICAL, "reclaim-stalls");
	f->losses = LOSS_RECLAIM;
	f->symptom = true;
	report_explain(r);
	assert_int_equal(r->findings.n, 1);
	assert_int_equal(r->findings.v[0].level, LEVEL_NOTE);
	end(&b);
}

/* What fills a group takes over the advice to raise its limit. */
static void test_explain_advice(void **unused)
{
	struct bench b;
	struct report *r = &b.report;
	struct finding *f;

	(void)unused;
	begin(&b, &rule_pressure, 1);
	report_init(r, "check", &b.stream);
	f = report_finding(r, LEVEL_WARNING, "cgroup-limit");
	f->losses = LOSS_RECLAIM | LOSS_GROUP;
	f->cgroup = 42;
	f->yields = true;
	finding_line(r, f->try_, "`echo 2 > limit`");
	finding_line(r, f->undo, "`echo 1 > limit`");
	f = report_finding(r, LEVEL_NOTE, "shm-orphans");
	f->losses = LOSS_GROUP;
	f->cgroup = 42;
	finding_line(r, f->try_, "`ipcrm -m 1`");
	report_explain(r);
	assert_int_equal(r->findings.n, 1);
	f = &r->findings.v[0];
	assert_string_equal(f->try_[0], "`ipcrm -m 1`");
	assert_string_equal(f->try_[2], "`echo 2 > limit`");
	assert_string_equal(f->undo[0], "`echo 1 > limit`");
	end(&b);
}

/* Both are sums, but one of them counts mappings: the other goes below it. */
static void test_explain_mappings(void **unused)
{
	struct bench b;
	struct report *r = &b.report;

	(void)unused;
	begin(&b, &rule_pressure, 1);
	report_init(r, "check", &b.stream);
	for (u8 folds = 2; folds; folds--) {
		struct finding *f =
			report_finding(r, LEVEL_RISK, folds == 2 ? "address-space" : "mappings");

		f->losses = LOSS_SPACE;
		f->tgid = 7;
		f->folds = folds;
	}
	report_explain(r);
	assert_int_equal(r->findings.n, 1);
	assert_string_equal(r->findings.v[0].rule, "mappings");
	end(&b);
}

/* A sum goes below who holds as much of it, and mappings below what the same process makes. */
static void test_explain_folds(void **unused)
{
	for (u64 grown = 10; grown <= 40; grown += 30) {
		struct bench b;
		struct report *r = &b.report;
		struct finding *f;

		(void)unused;
		begin(&b, &rule_pressure, 1);
		report_init(r, "check", &b.stream);
		f = report_finding(r, LEVEL_RISK, "slab-growth");
		f->losses = LOSS_KERNEL;
		f->folds = 1;
		f->held_bytes = f->grown_bytes = 90 * MIB;
		f = report_finding(r, LEVEL_NOTE, "open-files");
		f->losses = LOSS_KERNEL | LOSS_SPACE;
		f->tgid = 7;
		f->held_bytes = 900 * MIB;
		f->grown_bytes = grown * MIB;
		f = report_finding(r, LEVEL_RISK, "address-space");
		f->losses = LOSS_SPACE;
		f->folds = 1;
		f->tgid = grown == 10 ? 8 : 7;
		report_explain(r);
		report_rank(r);
		assert_int_equal(r->findings.n, grown == 10 ? 3 : 1);
		assert_string_equal(r->findings.v[grown == 10 ? 2 : 0].rule, "open-files");
		assert_int_equal(r->findings.v[0].level, LEVEL_RISK);
		end(&b);
	}
}

/* Two kills in one group, of which one was exiting already, and the kernel's counters with them. */
static void test_oom_group(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_oom, 1);
	PUT(&b, struct rec_method, REC_METHOD, .probe = "oom", .data = OOM_LOG_DATA,
		.method = "/dev/kmsg");
	value(&b, SYSTEM_VMSTAT, "oom_kill", 10, NULL);
	value(&b, SYSTEM_VMSTAT, "oom_kill", 11, NULL);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 9, .version = 2,
		.usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB, .oom_kill_total = 1);
	for (u32 tid = 7; tid < 9; tid++)
		PUT(&b, struct oom_kill, REC_OOM_KILL, .flags = OOM_VICTIM_KNOWN,
			.why = OOM_WHY_UNKNOWN, .tgid = 5, .comm = "asker", .victim_tid = tid,
			.victim_tgid = tid, .victim_comm = "victim", .anon_pages = 512, .levels = 1,
			.chain = {{9, 25600, 25600, 1}});
	PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED, .victim_tid = 7,
		.why = OOM_WHY_MEMCG);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_CRITICAL);
	assert_non_null(strstr(f->title, "killed 1 of its processes"));
	assert_true(
		says(f->evidence, "victim (pid 7) was killed, with 2.00 MiB resident, when asker "
				  "(pid 5) needed"));
	assert_true(says(f->try_, "echo 157286400 >"));
	assert_true(says(f->undo, "echo 104857600 >"));
	end(&b);
}

/* A kill that came before the hooks, which only the log has, is of the same group. */
static void test_oom_of_the_log(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_oom, 1);
	group(&b, 9, "/batch");
	PUT(&b, struct rec_method, REC_METHOD, .probe = "oom", .data = OOM_LOG_DATA,
		.method = "/dev/kmsg");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 9, .version = 2,
		.usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB, .oom_kill_total = 2);
	PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED, .victim_tid = 6,
		.why = OOM_WHY_MEMCG, .oom_path = "/batch", .victim_comm = "victim");
	PUT(&b, struct oom_kill, REC_OOM_KILL, .flags = OOM_VICTIM_KNOWN, .why = OOM_WHY_UNKNOWN,
		.tgid = 5, .comm = "asker", .victim_tid = 7, .victim_tgid = 7,
		.victim_comm = "victim", .levels = 1, .chain = {{9, 25600, 25600, 1}});
	PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED, .victim_tid = 7,
		.why = OOM_WHY_MEMCG, .oom_path = "/batch");
	f = only(&b);
	assert_non_null(
		strstr(f->title, "cgroup /batch: the OOM killer killed 2 of its processes"));
	assert_int_equal(f->cgroup, 9);
	assert_true(says(f->try_, "echo 157286400 >"));
	assert_false(says(f->try_, "it is gone"));
	report_destroy(&b.report);
	PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED, .victim_tid = 8,
		.why = OOM_WHY_MEMCG, .oom_path = "/other");
	assert_int_equal(conclude(&b), 2);
	/* Of many kills the log leaves out the group: it is that of others of the name. */
	report_destroy(&b.report);
	PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED, .victim_tid = 9,
		.why = OOM_WHY_MEMCG, .victim_comm = "victim");
	assert_int_equal(conclude(&b), 2);
	f = &b.report.findings.v[0];
	assert_non_null(
		strstr(f->title, "cgroup /batch: the OOM killer killed 3 of its processes"));
	assert_true(says(f->evidence, "omits the group of 1 of them"));
	/* They were killed in two groups, or none of the name was. */
	report_destroy(&b.report);
	PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED, .victim_tid = 10,
		.why = OOM_WHY_MEMCG, .oom_path = "/third", .victim_comm = "victim");
	assert_int_equal(conclude(&b), 4);
	end(&b);
}

/* Of a victim that was looked at before, the program and who started it are told. */
static void test_oom_program(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_oom, 1);
	string(&b, 1, "perl indexer.pl");
	string(&b, 2, "bash supervise.sh");
	PUT(&b, struct rec_task, REC_TASK, .tgid = 8, .comm = "perl", .program = 1);
	PUT(&b, struct rec_task, REC_TASK, .tgid = 6, .comm = "bash", .program = 2);
	/* Its number is another program's by now. */
	PUT(&b, struct rec_task, REC_TASK, .tgid = 9, .comm = "sleep", .program = 2);
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 8, .ppid = 6, .comm = "perl");
	PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 9, .ppid = 6, .comm = "sleep");
	PUT(&b, struct oom_kill, REC_OOM_KILL, .flags = OOM_VICTIM_KNOWN | OOM_CONTROL_KNOWN,
		.why = OOM_WHY_MEMCG, .tgid = 8, .comm = "perl", .victim_tid = 8, .victim_tgid = 8,
		.victim_comm = "perl");
	f = only(&b);
	assert_non_null(strstr(f->title, "killed 1 of its processes (perl indexer.pl)"));
	assert_true(says(f->evidence, "perl indexer.pl (pid 8), child of bash supervise.sh "
				      "(pid 6), was killed"));
	assert_true(says(f->evidence, "when it needed memory"));
	report_destroy(&b.report);
	PUT(&b, struct oom_kill, REC_OOM_KILL, .flags = OOM_VICTIM_KNOWN | OOM_CONTROL_KNOWN,
		.why = OOM_WHY_MEMCG, .tgid = 8, .comm = "perl", .victim_tid = 9, .victim_tgid = 9,
		.victim_comm = "ruby");
	f = only(&b);
	assert_null(strstr(f->title, "indexer")); /* of two programs none */
	assert_true(says(f->evidence, "ruby (pid 9) was killed"));
	end(&b);
}

/* Not the largest: for its own oom_score_adj, or for that of the one that is larger. */
static void test_oom_chosen(void **unused)
{
	const struct {
		s32 adj, larger_adj;
		u64 larger_mib;
		bool told;
	} cases[] = {{500, 0, 300, true}, {0, -900, 300, true}, {0, 0, 300, false},
		{500, 0, 110, false}, {0, 500, 300, false}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_oom, 1);
		PUT(&b, struct oom_task, REC_OOM_TASK, .tgid = 7, .comm = "victim",
			.rss_pages = 25600, .adj = cases[i].adj);
		PUT(&b, struct oom_task, REC_OOM_TASK, .tgid = 9, .comm = "hog",
			.rss_pages = cases[i].larger_mib * 256, .adj = cases[i].larger_adj);
		PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED,
			.victim_tid = 7, .why = OOM_WHY_NONE, .anon_bytes = 100 * MIB,
			.victim_comm = "victim", .victim_adj = cases[i].adj);
		f = only(&b);
		assert_int_equal(
			!!strstr(f->title, "for oom_score_adj: hog (pid 9) had more memory"),
			cases[i].told);
		assert_int_equal(says(f->try_, "echo 0 > /proc/9/oom_score_adj"),
			cases[i].told && cases[i].larger_adj < 0);
		end(&b);
	}
}

static void test_oom_counted(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_oom, 1);
	value(&b, SYSTEM_VMSTAT, "oom_kill", 4, NULL); /* before */
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_oom, 1);
	value(&b, SYSTEM_VMSTAT, "oom_kill", 4, NULL);
	value(&b, SYSTEM_VMSTAT, "oom_kill", 6, NULL);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 9, .version = 2,
		.usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB, .oom_kill_total = 1);
	assert_int_equal(conclude(&b), 2); /* one of the group, one elsewhere */
	assert_int_equal(b.report.findings.v[0].level, LEVEL_CRITICAL);
	assert_int_equal(b.report.findings.v[1].level, LEVEL_CRITICAL);
	end(&b);
	begin(&b, &rule_oom, 1);
	value(&b, SYSTEM_VMSTAT, "oom_kill", 0, NULL);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void test_oom_machine(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_oom, 1);
	for (u32 tid = 1; tid < 8; tid++)
		PUT(&b, struct oom_report, REC_OOM_REPORT, .flags = OOM_REPORT_KILLED,
			.victim_tid = tid, .why = OOM_WHY_NONE, .anon_bytes = MIB,
			.victim_comm = "sixteen_letters!");
	f = only(&b);
	assert_non_null(strstr(f->title, "The machine ran out of memory: 7 processes killed"));
	assert_true(says(f->evidence, "and 3 more"));
	assert_true(says(f->verify, "memwhy oom"));
	end(&b);
}

static void thp_value(struct bench *b, u16 source, const char *name, u64 v, const char *text)
{
	struct thp_value r = {.h = {sizeof(r), REC_THP_VALUE, 0, NSEC_PER_SEC}, .value = v};

	r.source = source;
	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.text, sizeof(r.text), "%s", text);
	put(b, &r);
}

/* A machine with huge pages whose hooks work, with its usual settings. */
static void thp_begin(struct bench *b, const char *enabled, const char *defrag)
{
	static const char *const data[] = {"direct compaction for huge pages",
		"direct reclaim for huge pages", "huge pages of processes"};

	begin(b, &rule_thp, 1);
	for (size_t i = 0; i < ARRAY_SIZE(data); i++) {
		struct rec_method m = {
			.h = {sizeof(m), REC_METHOD, 0, 1}, .probe = "thp", .method = "raw"};

		snprintf(m.data, sizeof(m.data), "%s", data[i]);
		put(b, &m);
	}
	thp_value(b, THP_SETTING, "enabled", 0, enabled);
	thp_value(b, THP_SETTING, "defrag", 0, defrag);
	thp_value(b, THP_SETTING, "khugepaged/max_ptes_none", 511, "");
	thp_value(b, THP_SETTING, "shrink_underused", 1, "");
	thp_value(b, THP_MEMORY, "total", 1 << 20, "");
	thp_value(b, THP_MEMORY, "high", 10000, "");
}

#define THP_WORK(b_, kind_, flags_, n_, ms_, above_)                                           \
	PUT((b_), struct thp_agg, REC_THP_AGG, .tgid = 7, .kind = (kind_), .flags = (flags_),  \
		.count = (n_), .timed = (n_), .total_ns = (ms_)*NSEC_PER_MSEC, .max_ns = 1000, \
		.sum = {(above_) ? (n_) : 0, (above_) ? (ms_)*NSEC_PER_MSEC : 0})

static void test_thp_compaction(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	thp_begin(&b, "always", "always");
	THP_WORK(&b, THP_COMPACT, 0, 100, 500ULL, false); /* 5 % of ten seconds */
	f = only(&b);
	assert_string_equal(f->rule, "thp-compaction");
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_int_equal(f->cost_ns, 500 * NSEC_PER_MSEC);
	assert_true(says(f->evidence, "victim (process 7)"));
	assert_true(says(f->evidence, "transparent_hugepage/defrag is 'always'"));
	assert_true(says(f->try_, "echo defer+madvise > /sys"));
	assert_true(says(f->try_, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"));
	assert_true(says(f->undo, "echo always > /sys/kernel/mm/transparent_hugepage/defrag"));
	end(&b);
	/* what asked for huge pages waits with defer+madvise too */
	thp_begin(&b, "madvise", "defer+madvise");
	THP_WORK(&b, THP_COMPACT, 0, 100, 500ULL, false);
	assert_true(says(only(&b)->try_, "echo defer > /sys"));
	end(&b);
	/* khugepaged's compaction holds nobody up; little of it is no trouble */
	thp_begin(&b, "always", "always");
	THP_WORK(&b, THP_COMPACT, THP_KERNEL, 100, 5000ULL, false);
	THP_WORK(&b, THP_COMPACT, 0, 100, 40ULL, false);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void test_thp_reclaim(void **unused)
{
	static const struct {
		u64 asked, reclaimed;
		bool seen;
	} folios[] = {{0, 0, false}, {12, 0, false}, {13, 0, true}, {40, 40 * 512 * 4, true},
		{40, 40 * 512 * 4 + 2, false}};
	const struct finding *f;
	struct bench b;

	(void)unused;
	thp_begin(&b, "always", "defer");
	THP_WORK(&b, THP_KSWAPD, THP_KERNEL | THP_FREE_KNOWN, 50, 300ULL, true);
	THP_WORK(&b, THP_RECLAIM, THP_FREE_KNOWN, 50, 300ULL, true);
	f = only(&b);
	assert_string_equal(f->rule, "thp-reclaim");
	assert_int_equal(f->cost_ns, 600 * NSEC_PER_MSEC);
	assert_true(says(f->try_, "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag"));
	assert_true(says(f->undo, "echo defer > /sys"));
	end(&b);
	/* below the watermarks it is a shortage, and not the huge pages' fault */
	thp_begin(&b, "always", "defer");
	THP_WORK(&b, THP_RECLAIM, THP_FREE_KNOWN, 50, 3000ULL, false);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	/* blocks of that order that nobody wanted as huge pages: large folios of the page cache */
	for (size_t i = 0; i < ARRAY_SIZE(folios); i++) {
		thp_begin(&b, "always", "defer");
		thp_value(&b, THP_VMSTAT, "thp_fault_alloc", 1000, "");
		value(&b, SYSTEM_VMSTAT, "pgsteal_kswapd", 5000, NULL);
		value(&b, SYSTEM_VMSTAT, "pgsteal_direct", 5000, NULL);
		THP_WORK(&b, THP_KSWAPD, THP_KERNEL | THP_FREE_KNOWN, 50, 300ULL, true);
		thp_value(&b, THP_VMSTAT, "thp_fault_alloc", 1000 + folios[i].asked, "");
		value(&b, SYSTEM_VMSTAT, "pgsteal_kswapd", 5000 + folios[i].reclaimed / 2, NULL);
		value(&b, SYSTEM_VMSTAT, "pgsteal_direct", 5000 + folios[i].reclaimed / 2, NULL);
		assert_int_equal(conclude(&b), folios[i].seen);
		end(&b);
	}
	/* where events do not tell, samples do: all of them must be above */
	thp_begin(&b, "always", "madvise");
	THP_WORK(&b, THP_RECLAIM, 0, 50, 600ULL, false);
	thp_value(&b, THP_MEMORY, "free", 20000, "");
	thp_value(&b, THP_MEMORY, "free", 30000, "");
	f = only(&b);
	assert_true(says(f->try_, "echo never > /sys"));
	assert_true(strstr(f->confidence, "medium") == f->confidence);
	end(&b);
	thp_begin(&b, "always", "madvise");
	THP_WORK(&b, THP_RECLAIM, 0, 50, 600ULL, false);
	thp_value(&b, THP_MEMORY, "free", 20000, "");
	thp_value(&b, THP_MEMORY, "free", 5000, "");
	assert_int_equal(conclude(&b), 0);
	assert_int_equal(b.report.not_checked.n, 1);
	end(&b);
}

static void test_thp_bloat(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	thp_begin(&b, "always", "madvise");
	PUT(&b, struct thp_process, REC_THP_PROCESS, .tgid = 7, .comm = "victim",
		.rss_bytes = 1000 * MIB, .anon_huge_bytes = 900 * MIB, .sampled = 64,
		.candidates = 450, .waste_bytes = 800 * MIB, .error_bytes = 20 * MIB);
	f = only(&b);
	assert_string_equal(f->rule, "thp-bloat");
	assert_int_equal(f->level, LEVEL_WARNING); /* a fifth of 4 GiB */
	assert_true(says(f->evidence, "800 MiB"));
	assert_true(says(f->try_, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"));
	assert_true(says(f->try_, "echo 64 > /sys/kernel/mm/transparent_hugepage/khugepaged"));
	assert_true(says(f->undo, "echo 511 >"));
	end(&b);
	/* whole huge pages that nobody wrote to: a guest whose memory is set aside as it starts */
	thp_begin(&b, "always", "madvise");
	PUT(&b, struct thp_process, REC_THP_PROCESS, .tgid = 7, .comm = "victim",
		.rss_bytes = 1000 * MIB, .anon_huge_bytes = 900 * MIB, .sampled = 64,
		.untouched = 60, .candidates = 450, .waste_bytes = 850 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_non_null(strstr(
		f->title, "victim (pid 7) are all zero: about 850 MiB is reserved ahead of use"));
	end(&b);
	/* a waste that may be none: the error is as big as it; and pages that are used */
	thp_begin(&b, "always", "madvise");
	PUT(&b, struct thp_process, REC_THP_PROCESS, .tgid = 7, .rss_bytes = 1000 * MIB,
		.anon_huge_bytes = 900 * MIB, .sampled = 4, .candidates = 450,
		.waste_bytes = 300 * MIB, .error_bytes = 250 * MIB);
	PUT(&b, struct thp_process, REC_THP_PROCESS, .tgid = 8, .rss_bytes = 1000 * MIB,
		.anon_huge_bytes = 900 * MIB, .sampled = 64, .candidates = 450,
		.waste_bytes = 30 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	/* nothing could be read */
	thp_begin(&b, "always", "madvise");
	PUT(&b, struct thp_process, REC_THP_PROCESS, .tgid = 7, .rss_bytes = 1000 * MIB,
		.anon_huge_bytes = 900 * MIB);
	assert_int_equal(conclude(&b), 0);
	assert_int_equal(b.report.not_checked.n, 1);
	end(&b);
}

static void test_thp_fallback(void **unused)
{
	struct bench b;

	(void)unused;
	thp_begin(&b, "always", "madvise");
	thp_value(&b, THP_VMSTAT, "thp_fault_alloc", 10, "");
	thp_value(&b, THP_VMSTAT, "thp_fault_alloc", 60, "");
	thp_value(&b, THP_VMSTAT, "thp_fault_fallback", 10, "");
	thp_value(&b, THP_VMSTAT, "thp_fault_fallback", 960, "");
	assert_string_equal(only(&b)->rule, "thp-fallback");
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
	assert_int_equal(conclude(&b), 0); /* names that are looked at, and go again */
	end(&b);
	begin(&b, &rule_slab_growth, 1);
	value(&b, SYSTEM_MEMINFO, "Slab", 100 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "Slab", 700 * MIB, NULL);
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 150 * MIB, .first_bytes = 60 * MIB,
		.name = "dentry");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE); /* all of it can be reclaimed */
	assert_true(says(f->evidence, "cache dentry grew most"));
	assert_true(says(f->try_, "memwhy leak --kernel --for 60s"));
	end(&b);

	begin(&b, &rule_slab_growth, 1); /* caches shrank, and what cannot be reclaimed grew */
	for (u64 n = 0; n < 2; n++) {
		value(&b, SYSTEM_MEMINFO, "Slab", (300 - n * 10) * MIB, NULL);
		value(&b, SYSTEM_MEMINFO, "SUnreclaim", (100 + n * 50) * MIB, NULL);
	}
	value(&b, SYSTEM_MEMINFO, "Slab", 340 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "SUnreclaim", 150 * MIB, NULL);
	assert_non_null(strstr(only(&b)->title, "grew by 50.0 MiB in 10 s (none of it can be"));
	end(&b);

	/* Where it is about what cannot be reclaimed, the cache is one of that kind. */
	begin(&b, &rule_slab_growth, 1);
	for (u64 n = 100; n <= 200; n += 100) {
		value(&b, SYSTEM_MEMINFO, "Slab", n * MIB, NULL);
		value(&b, SYSTEM_MEMINFO, "SUnreclaim", n * 7 / 10 * MIB, NULL);
	}
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 150 * MIB, .first_bytes = 60 * MIB,
		.name = "dentry", .reclaimable = 1);
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 90 * MIB, .first_bytes = 20 * MIB,
		.name = "signal_cache", .aliases = 3);
	f = only(&b);
	assert_true(says(f->evidence, "cache signal_cache, which cannot be reclaimed, grew most"));
	assert_true(says(f->evidence, "3 more caches share it"));
	end(&b);
}

/* A sample of /proc/meminfo as the sampler sends it. */
static void sample_of(struct bench *b, u64 i, u64 free, u64 slab, u64 kept)
{
	const struct {
		const char *name;
		u64 value;
	} v[] = {{"MemTotal", 8192 * MIB}, {"MemFree", free}, {"Active", 900 * MIB},
		{"Inactive", 100 * MIB}, {"Slab", slab}, {"SUnreclaim", kept}};

	for (size_t k = 0; k < ARRAY_SIZE(v); k++) {
		struct system_value r = {.h = {sizeof(r), REC_SYSTEM_VALUE, 0,
						 NSEC_PER_SEC + i * NSEC_PER_SEC / 4 + k},
			.source = SYSTEM_MEMINFO,
			.value = v[k].value};

		snprintf(r.name, sizeof(r.name), "%s", v[k].name);
		put(b, &r);
	}
}

static void sample(struct bench *b, u64 i, u64 free, u64 slab)
{
	sample_of(b, i, free, slab, slab / 2);
}

static void test_kernel_growth(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_slab_growth, 1); /* pages go and no counter has them */
	for (u64 i = 0; i < 40; i++)
		sample(&b, i, (7000 - i) * MIB, 200 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_string_equal(f->rule, "kernel-growth");
	assert_non_null(strstr(f->title, "4.00 MiB a second"));
	assert_true(says(f->try_, "memwhy leak --kernel --for 60s"));
	end(&b);
	begin(&b, &rule_slab_growth, 1); /* all at once: a buffer */
	for (u64 i = 0; i < 40; i++)
		sample(&b, i, (i < 20 ? 7000 : 6900) * MIB, 200 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_slab_growth, 1); /* slab has it: 10 MiB of it cannot be reclaimed */
	for (u64 i = 0; i < 40; i++)
		sample(&b, i, 7000 * MIB - i * MIB / 2, 200 * MIB + i * MIB / 2);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_string_equal(f->rule, "slab-growth");
	assert_true(says(f->evidence, "grew steadily"));
	end(&b);
	begin(&b, &rule_slab_growth, 1); /* inodes that are looked at, and what comes with them */
	for (u64 i = 0; i < 40; i++)
		sample_of(&b, i, (7000 - 10 * i) * MIB, (200 + 10 * i) * MIB,
			100 * MIB + i * MIB / 3);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_slab_growth, 1); /* to and fro */
	for (u64 i = 0; i < 40; i++)
		sample(&b, i, (7000 - i % 8 * 8) * MIB, 200 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void ledger(struct bench *b, u64 second, u64 free_cpu, u64 rest)
{
	struct where_ledger l = {.h = {sizeof(l), REC_WHERE_LEDGER, 0, second * NSEC_PER_SEC},
		.scope = WHERE_MACHINE,
		.total_bytes = 16384 * MIB,
		.known = 1 << WHERE_FREE | 1 << WHERE_FREE_CPU};

	l.bytes[WHERE_FREE_CPU] = free_cpu;
	l.bytes[WHERE_FREE] = l.total_bytes - free_cpu - rest;
	put(b, &l);
}

/* Free memory on the lists of CPUs is in no field of meminfo, and in a row of the ledger. */
static void test_kernel_held(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_slab_growth, 1);
	ledger(&b, 1, 900 * MIB, 20 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_slab_growth, 1);
	ledger(&b, 1, 20 * MIB, 4096 * MIB);
	f = only(&b);
	assert_string_equal(f->rule, "kernel-held");
	assert_true(says(f->evidence, "MemTotal is 16.0 GiB: all counters add up to 12.0 GiB"));
	assert_non_null(strstr(f->title, "4.00 GiB that no counter explains"));
	end(&b);
	for (u64 share = 1; share <= 3; share += 2) { /* a quarter of it is not most of it */
		begin(&b, &rule_slab_growth, 1);
		ledger(&b, 1, 20 * MIB, 4096 * MIB);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 7, .packets = 1);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9,
			.ring_bytes = share * 1024 * MIB);
		f = only(&b);
		assert_int_equal(f->tgid, share == 3 ? 9 : 7);
		assert_int_equal(
			!!strstr(f->title, "3.00 GiB of it is io_uring rings of"), share == 3);
		assert_int_equal(!!strstr(f->title, "perhaps the rings of"), share == 1);
		assert_int_equal(says(f->try_, "/proc/9/fdinfo"), share == 3);
		end(&b);
	}
	begin(&b, &rule_slab_growth, 1); /* a mapping says how large a ring is */
	ledger(&b, 1, 20 * MIB, 4096 * MIB);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 7, .packets = 1);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 8, .packets = 1,
		.mapped_bytes = 3072 * MIB);
	f = only(&b);
	assert_int_equal(f->tgid, 8);
	assert_non_null(strstr(f->title, ": 3.00 GiB of it is rings that "));
	assert_true(says(f->try_, "/proc/8/maps"));
	assert_false(says(f->try_, "ethtool"));
	end(&b);
	begin(&b, &rule_slab_growth, 1); /* what tracing has is told by itself */
	ledger(&b, 1, 20 * MIB, 4096 * MIB);
	PUT(&b, struct held_trace, REC_HELD_TRACE, .instance = 1, .bytes = 4000 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_slab_growth, 1); /* it grows, and has a row */
	ledger(&b, 0, 20 * MIB, 20 * MIB);
	for (u64 i = 0; i < 40; i++)
		sample(&b, i, (7000 - i) * MIB, 200 * MIB);
	ledger(&b, 4, 60 * MIB, 20 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void test_slab_waste(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	begin(&b, &rule_slab_waste, 1);
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 300 * MIB, .object_bytes = 1024,
		.active_objects = 290 * 1024, .objects = 300 * 1024, .slabs = 9600, .name = "full");
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 60 * MIB, .object_bytes = 1024,
		.active_objects = 1, .objects = 60 * 1024, .slabs = 1920, .name = "small");
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_slab_waste, 1);
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 100 * MIB, .object_bytes = 1024,
		.active_objects = 1024, .objects = 100 * 1024, .slabs = 3200, .name = "less");
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 200 * MIB, .object_bytes = 1024,
		.active_objects = 1024, .objects = 200 * 1024, .slabs = 6400, .name = "more");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_non_null(strstr(f->title, "298 MiB"));
	assert_non_null(strstr(f->evidence[0], "cache more: 200 MiB in 6400 slabs"));
	assert_non_null(strstr(f->evidence[1], "cache less"));
	assert_true(says(f->try_, "/sys/kernel/slab/more/shrink"));
	end(&b);
	begin(&b, &rule_slab_waste, 1);
	PUT(&b, struct slab_usage, REC_SLAB_CACHE, .bytes = 900 * MIB, .object_bytes = 1024,
		.active_objects = 1024, .objects = 900 * 1024, .slabs = 3200, .name = "huge");
	assert_int_equal(only(&b)->level, LEVEL_RISK);
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

static void test_numa_hints(void **unused)
{
	(void)unused;
	for (u32 nodes = 1; nodes <= 2; nodes++) {
		struct bench b;

		begin(&b, &rule_numa_hints, nodes);
		value(&b, SYSTEM_SETTING, "kernel.numa_balancing", 1, NULL);
		value(&b, SYSTEM_VMSTAT, "numa_hint_faults", 5, NULL);
		value(&b, SYSTEM_VMSTAT, "numa_hint_faults", 120005, NULL);
		if (nodes == 1) {
			const struct finding *f = only(&b);

			assert_int_equal(f->level, LEVEL_RISK);
			assert_non_null(strstr(f->title, "12000 useless page faults a second"));
			assert_true(says(f->try_, "`sysctl -w kernel.numa_balancing=0`"));
			assert_true(says(f->undo, "`sysctl -w kernel.numa_balancing=1`"));
		} else {
			assert_int_equal(conclude(&b), 0);
		}
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numa_hints),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_reclaim_memcg),
		cmocka_unit_test(test_reclaim_global),
		cmocka_unit_test(test_reclaim_causes),
		cmocka_unit_test(test_compaction),
		cmocka_unit_test(test_reclaim_threads),
		cmocka_unit_test(test_reclaim_thin),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_fragmentation),
		cmocka_unit_test(test_severe_events),
		cmocka_unit_test(test_major_faults),
		cmocka_unit_test(test_major_faults_again),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_swap_at_limit),
		cmocka_unit_test(test_swap_beside_pools),
		cmocka_unit_test(test_swap_quiet),
		cmocka_unit_test(test_swappiness),
		cmocka_unit_test(test_swap_limit),
		cmocka_unit_test(test_swap_full),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_pressure_of_group),
		cmocka_unit_test(test_cgroup_limit),
		cmocka_unit_test(test_cgroup_kept),
		cmocka_unit_test(test_cgroup_far),
		cmocka_unit_test(test_cgroup_disk_waits),
		cmocka_unit_test(test_cgroup_stream),
		cmocka_unit_test(test_cgroup_passes),
		cmocka_unit_test(test_cgroup_limit_reset),
		cmocka_unit_test(test_cgroup_cache_left),
		cmocka_unit_test(test_cgroup_refaults),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_explain_elsewhere),
		cmocka_unit_test(test_explain_rank),
		cmocka_unit_test(test_explain_yields),
		cmocka_unit_test(test_explain_advises),
		cmocka_unit_test(test_explain_folds),
		cmocka_unit_test(test_explain_advice),
		cmocka_unit_test(test_explain_mappings),
		cmocka_unit_test(test_thp_compaction),
		cmocka_unit_test(test_thp_reclaim),
		cmocka_unit_test(test_thp_bloat),
		cmocka_unit_test(test_thp_fallback),
		cmocka_unit_test(test_oom_group),
		cmocka_unit_test(test_oom_of_the_log),
		cmocka_unit_test(test_oom_program),
		cmocka_unit_test(test_oom_chosen),
		cmocka_unit_test(test_oom_counted),
		cmocka_unit_test(test_oom_machine),
		cmocka_unit_test(test_slab),
		cmocka_unit_test(test_kernel_growth),
		cmocka_unit_test(test_kernel_held),
		cmocka_unit_test(test_slab_waste),
		cmocka_unit_test(test_numa),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
