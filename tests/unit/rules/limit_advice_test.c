/* How far the limit of a control group is to be raised: by heaps that may become larger, and where
 * what is needed is not known by a range. */
#include "rules/rules_fixture.h"

#include "probes/cache/cache.h"
#include "probes/cgroups/cgroups.h"
#include "probes/oom/oom.h"
#include "probes/processes/processes.h"
#include "rules/rules.h"
#include "rules/working_set.h"

static void full_group(struct bench *b, u64 limit, u64 anon, u64 file, u64 refaults)
{
	group(b, 42, "/shop");
	PUT(b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS, .cgroup = 42,
		.version = 2, .usage_bytes = limit, .limit_bytes = limit,
		.high_bytes = CGROUP_USAGE_NONE, .anon_bytes = anon, .file_bytes = file,
		.limit_hit_total = 1000, .refault_file_total = refaults);
}

static void runtime(struct bench *b, u32 tgid, const char *comm, u16 flags, u64 heap, u64 time_ns)
{
	struct rec_task task = {.h = {sizeof(task), REC_TASK, 0, NSEC_PER_SEC}, .tgid = tgid};
	struct process_memory m = {.h = {sizeof(m), REC_PROCESS_MEMORY, flags, time_ns},
		.tgid = tgid,
		.start_ns = 5,
		.cgroup = 42,
		.rss_bytes = 480 * MIB,
		.anon_bytes = 480 * MIB,
		.first_anon_bytes = 480 * MIB,
		.heap_limit_bytes = heap};

	snprintf(task.comm, sizeof(task.comm), "%s", comm);
	put(b, &task);
	put(b, &m);
}

/* Each runtime by the name of its own setting; a heap that fits is no matter of the limit. */
static void test_heap_above_limit(void **unused)
{
	static const struct {
		const char *comm;
		u16 flags;
		u64 heap;
		const char *title, *smaller, *raise;
	} cases[] = {
		{"java", 0, 1024 * MIB, "java (pid 9) may have a heap of 1.00 GiB (-Xmx)",
			"-Xmx384m", "echo 1342177280 > "},
		{"node", 0, 2048 * MIB, "a heap of 2.00 GiB (--max-old-space-size)",
			"--max-old-space-size=384", "echo 2684354560 > "},
		{"shopd", PROCESS_SOFT_HEAP, 600 * MIB, "a heap of 600 MiB (GOMEMLIMIT)",
			"GOMEMLIMIT=384MiB", "echo 805306368 > "},
		{"java", 0, 10240 * MIB, "a heap of 10.0 GiB", "-Xmx384m", NULL},
		{"java", 0, 300 * MIB, NULL, NULL, NULL},
		{"java", 0, 0, NULL, NULL, NULL},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_cgroup_limit, 1);
		full_group(&b, 512 * MIB, 480 * MIB, 10 * MIB, 0);
		runtime(&b, 9, cases[i].comm, cases[i].flags, cases[i].heap, 10 * NSEC_PER_SEC);
		f = only(&b);
		if (!cases[i].title) {
			assert_null(strstr(f->title, "heap"));
			assert_true(says(f->try_, "Raise the limit, or shrink"));
			end(&b);
			continue;
		}
		assert_non_null(strstr(f->title, cases[i].title));
		assert_true(says(f->evidence, "hits that limit before"));
		assert_true(says(f->try_, cases[i].smaller));
		assert_int_equal(says(f->try_, "Raise the limit"), cases[i].raise != NULL);
		assert_true(!cases[i].raise || says(f->try_, cases[i].raise));
		assert_true(!cases[i].raise || says(f->undo, "echo 536870912 > "));
		end(&b);
	}
}

/* Two that run are added up; of those that were killed before, none. */
static void test_heaps_of_one_group(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	full_group(&b, 512 * MIB, 480 * MIB, 10 * MIB, 0);
	runtime(&b, 9, "java", 0, 400 * MIB, 2 * NSEC_PER_SEC);
	runtime(&b, 10, "java", 0, 400 * MIB, 10 * NSEC_PER_SEC);
	assert_null(strstr(only(&b)->title, "heap"));
	end(&b);
	begin(&b, &rule_cgroup_limit, 1);
	full_group(&b, 512 * MIB, 480 * MIB, 10 * MIB, 0);
	runtime(&b, 9, "java", 0, 400 * MIB, 10 * NSEC_PER_SEC);
	runtime(&b, 10, "java", 0, 400 * MIB, 10 * NSEC_PER_SEC);
	f = only(&b);
	assert_true(says(f->evidence, "all heaps of the cgroup together may have 800 MiB"));
	assert_true(says(f->try_, "-Xmx192m")); /* each its half of three quarters */
	end(&b);
}

/* So it is where the OOM killer chose one that was killed. */
static void test_heap_killed(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_oom, 1);
	full_group(&b, 512 * MIB, 480 * MIB, 10 * MIB, 0);
	runtime(&b, 9, "java", 0, 1024 * MIB, 4 * NSEC_PER_SEC);
	runtime(&b, 10, "sh", 0, 0, 10 * NSEC_PER_SEC);
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS, .cgroup = 42,
		.version = 2, .usage_bytes = 512 * MIB, .limit_bytes = 512 * MIB,
		.high_bytes = CGROUP_USAGE_NONE, .anon_bytes = 480 * MIB, .oom_kill_total = 1);
	value(&b, SYSTEM_VMSTAT, "oom_kill", 1, NULL);
	f = only(&b);
	assert_non_null(strstr(f->title, "java (pid 9) may have a heap of 1.00 GiB"));
	assert_true(says(f->try_, "-Xmx384m"));
	assert_true(says(f->try_, "echo 1342177280 > "));
	end(&b);
}

/* Random reads of 4 GiB through 512 MiB: in ten seconds few pages come back, and after a short
 * time; what is needed is in the range, and a longer look tells. */
static void test_range(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (int much = 0; much < 2; much++) {
		begin(&b, &rule_cgroup_limit, 1);
		full_group(&b, 512 * MIB, 20 * MIB, 480 * MIB, 60000);
		value(&b, SYSTEM_MEMINFO, "MemAvailable", (much ? 16384 : 2048) * MIB, NULL);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .tgid = 7, .cgroup = 42, .count = 1000);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .tgid = 7, .flags = CACHE_REFAULT,
			.cgroup = 42, .count = 40, .total_ns = 40 * 4 * NSEC_PER_SEC);
		f = only(&b);
		assert_true(says(f->try_, "It needs between 640 MiB and"));
		assert_true(says(f->try_, "memwhy limit -g /sys/fs/cgroup/shop --for 10m"));
		assert_int_equal(says(f->try_, "to the upper end"), much);
		assert_int_equal(says(f->try_, "echo 671088640 > "), !much);
		end(&b);
	}
}

/* What was seen to come back of what is drawn at random tells how much there is. */
static void test_most(void **unused)
{
	struct working_set w = {.read = 1000, .back = 40};
	u64 bytes = working_set_out_most(&w, 4096);

	(void)unused;
	/* 1000 * 64 pages a look, of which each comes back after 12.2 looks on average */
	assert_true(bytes > 2900 * MIB && bytes < 3200 * MIB);
	w.back = 1000;
	assert_true(working_set_out_most(&w, 4096) < 10 * MIB);
	w.back = 500;
	bytes = working_set_out_most(&w, 4096);
	assert_true(bytes > 100 * MIB && bytes < 250 * MIB);
	w.back = 15;
	assert_int_equal(working_set_out_most(&w, 4096), 0);
	assert_int_equal(working_set_out_least(&w, 100, 4096), 0);
}

/* Pages that came in by being written were not read, unless they had been there before. */
static void test_working_set_feed(void **unused)
{
	struct cache_agg r = {
		.h = {sizeof(r), REC_CACHE_AGG, 0, 0}, .cgroup = 3, .count = 10, .total_ns = 500};
	static const u16 flags[] = {0, CACHE_WRITTEN, CACHE_REFAULT, CACHE_WRITTEN | CACHE_REFAULT};
	const struct working_set *w;
	struct groups sets;

	(void)unused;
	working_set_init(&sets);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		r.flags = flags[i];
		assert_int_equal(working_set_feed(&sets, &r), 0);
	}
	w = groups_find(&sets, &r.cgroup);
	assert_int_equal(w->read, 30);
	assert_int_equal(w->back, 20);
	assert_int_equal(w->out_ns, 1000);
	groups_free(&sets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_working_set_feed),
		cmocka_unit_test(test_heap_above_limit),
		cmocka_unit_test(test_heaps_of_one_group),
		cmocka_unit_test(test_heap_killed),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_most),
	};

	return cmocka_run_group_tests_name("limit_advice", tests, NULL, NULL);
}
