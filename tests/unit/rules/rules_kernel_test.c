/* Rules on what the kernel keeps and does for programs, on synthetic records. */
#include "rules/rules_fixture.h"

#include "probes/cache/cache.h"
#include "probes/cgroups/cgroups.h"
#include "probes/faults/faults.h"
#include "probes/holders/holders.h"
#include "probes/mmcalls/mmcalls.h"
#include "probes/pages/pages.h"
#include "probes/processes/processes.h"
#include "probes/slab/slab.h"
#include "probes/waits/waits.h"
#include "probes/stalls/stalls.h"
#include "rules/facts.h"
#include "rules/rules.h"
#include "sys/process/fdlink.h"

static void dying(struct bench *b, u64 first, u64 now)
{
	PUT(b, struct cgroup_dying, REC_CGROUP_DYING, .version = 1, .first_dying = first,
		.dying = now, .alive = 12);
}

static void test_dead_groups(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 20000, 40000);
	PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = 7, .kind = WAITS_GROUP_MADE,
		.count = 900, .where = "/jobs");
	PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = 7, .kind = WAITS_GROUP_REMOVED,
		.count = 900);
	PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = 8, .kind = WAITS_PERCPU, .count = 90000);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_int_equal(f->tgid, 7);
	assert_non_null(strstr(f->title, "victim (pid 7) makes and removes control groups: 40000"));
	assert_true(says(f->evidence, "one of them in /jobs"));
	assert_true(says(f->try_, "drop_caches"));
	end(&b);
}

/* Each is made by a process of its own: their parent is the one. */
static void test_dead_groups_of_children(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 1900, 2000);
	string(&b, 5, "bash jobs.sh");
	for (u32 tgid = 100; tgid < 150; tgid++)
		PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = tgid, .kind = WAITS_GROUP_MADE,
			.count = 1, .parent_tgid = 99, .parent = 5, .where = "/jobs");
	f = only(&b);
	assert_int_equal(f->tgid, 99);
	assert_non_null(strstr(f->title, "bash jobs.sh (pid 99)"));
	end(&b);
}

/* Some always are; and where nobody was seen to make any, nobody is blamed. */
static void test_dead_groups_quiet(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 400, 420);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 5000, 5000);
	assert_int_equal(only(&b)->tgid, 0);
	end(&b);
}

/* What keeps them decides what empties them: nobody has to add to them. */
static void test_dead_groups_kept(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (u64 tmpfs = 1; tmpfs <= 12; tmpfs += 11) { /* a page of it in each is enough */
		begin(&b, &rule_dead_groups, 1);
		group(&b, 9, "/jobs");
		PUT(&b, struct cgroup_dying, REC_CGROUP_DYING, .version = 1, .first_dying = 1500,
			.dying = 1500, .alive = 12, .h.flags = CGROUP_DYING_PARTS, .below = 9,
			.below_bytes = 104 << 20, .file_bytes = 96 << 20,
			.shmem_bytes = tmpfs << 20);
		f = only(&b);
		assert_int_equal(f->level, LEVEL_NOTE);
		assert_non_null(strstr(f->title,
			"1500 removed control groups from /jobs are still kept by the "
			"kernel (dead groups) for 96.0 MiB of page cache"));
		assert_int_equal(
			!!strstr(f->title, " and 12.0 MiB of files in tmpfs, about"), tmpfs == 12);
		assert_true(
			says(f->try_, "echo 0 > /sys/fs/cgroup/memory/jobs/memory.force_empty"));
		assert_int_equal(says(f->try_, "where --files"), tmpfs == 12);
		end(&b);
	}
	begin(&b, &rule_dead_groups, 1);
	PUT(&b, struct cgroup_dying, REC_CGROUP_DYING, .version = 2, .first_dying = 1500,
		.dying = 1500, .alive = 12, .h.flags = CGROUP_DYING_PARTS, .below = 9,
		.below_dying = 1400, .shmem_bytes = 96 << 20);
	f = only(&b);
	assert_non_null(strstr(f->title, "for 96.0 MiB of files in tmpfs"));
	assert_true(says(f->try_, "where --files"));
	assert_false(says(f->try_, "drop_caches"));
	end(&b);
}

/* What nobody reads fills a larger limit as well. */
static void test_unread_fills_group(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	group(&b, 42, "/jobs");
	string(&b, 1, "writer");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 1,
		.usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB, .limit_hit_total = 9000,
		.h.flags = CGROUP_HAS_PARTS, .kernel_bytes = 90 * MIB, .anon_bytes = 10 * MIB);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1, .cgroup = 42,
		.pipe_bytes = 80 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "writer (pid 9) has 80.0 MiB in unread pipes"));
	assert_non_null(strstr(f->try_[0], "First drain or close what waits there"));
	end(&b);
}

/* Entries for files that are there: by what who waits for room is at. */
static void test_files_fill_group(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (int looks_up = 0; looks_up < 2; looks_up++) {
		begin(&b, &rule_cgroup_limit, 1);
		group(&b, 42, "/backup");
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 1,
			.usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB, .limit_hit_total = 9000,
			.h.flags = CGROUP_HAS_PARTS, .kernel_bytes = 90 * MIB,
			.anon_bytes = 10 * MIB);
		for (u32 tgid = 7; tgid < 9; tgid++)
			PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = tgid, .comm = "find",
				.kind = STALLS_CHARGE, .cgroup = 42, .total_ns = NSEC_PER_SEC,
				.syscall = looks_up ? 262 : 9); /* newfstatat, mmap */
		PUT(&b, struct stalls_agg, REC_STALLS_AGG, .tgid = 5, .comm = "sh",
			.kind = STALLS_CHARGE, .cgroup = 42, .total_ns = NSEC_PER_SEC,
			.syscall = 257);
		f = only(&b);
		assert_int_equal(
			!!strstr(f->title, "inodes and dentries of files that find (several, pid "
					   "7) looks up: its newfstatat() waits longest"),
			looks_up);
		end(&b);
	}
}

static void shootdowns(struct bench *b, u64 n, u64 calls)
{
	PUT(b, struct mmcalls_sampled, REC_MMCALLS_SAMPLED, .bursts = 10, .on_ns = NSEC_PER_SEC / 2,
		.covered_ns = 10 * NSEC_PER_SEC, .shootdowns = n,
		.shootdown_ns = 10 * NSEC_PER_SEC);
	PUT(b, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = 7, .call = MMCALLS_MPROTECT,
		.count = calls);
	PUT(b, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = 8, .call = MMCALLS_MMAP,
		.count = 10 * calls);
}

static void test_shootdowns(void **unused)
{
	static const struct {
		u64 n;
		int level;
	} cases[] = {{30000, LEVEL_NOTE}, {120000, LEVEL_RISK}, {700000, LEVEL_WARNING}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_shootdowns, 1);
		shootdowns(&b, cases[i].n, cases[i].n / 20);
		f = only(&b);
		assert_int_equal(f->level, cases[i].level);
		assert_int_equal(f->tgid, 7);
		assert_non_null(strstr(f->title, "victim (pid 7) changes its mappings"));
		assert_non_null(strstr(f->title, "mprotect()"));
		assert_true(f->try_[0] && f->undo[0] && f->verify[0] && f->why);
		end(&b);
	}
}

/* Few are usual; and many that no calls explain are the kernel's. */
static void test_shootdowns_quiet(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_shootdowns, 1);
	shootdowns(&b, 9000, 900);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_shootdowns, 1);
	shootdowns(&b, 900000, 10);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void slow_faults(struct bench *b, u16 flags, u64 each_ns)
{
	PUT(b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = flags, .count = 2000,
		.timed = 2000, .total_ns = 2000 * each_ns, .max_ns = 3 * each_ns);
}

static void handler(struct bench *b, u32 tgid)
{
	string(b, 1, "pager");
	PUT(b, struct held_process, REC_HELD_PROCESS, .tgid = tgid, .name = 1, .kinds[FD_UFFD] = 1);
}

static void test_userfault(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_userfault, 1);
	handler(&b, 7);
	slow_faults(&b, FAULT_ACCESS_KNOWN | FAULT_WRITE, 5 * NSEC_PER_MSEC);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_int_equal(f->cost_ns, 10 * NSEC_PER_SEC);
	assert_non_null(strstr(f->title, "Threads of victim (pid 7) wait in page faults"));
	assert_null(strstr(f->title, "probably"));
	end(&b);

	begin(&b, &rule_userfault, 1); /* the handler is another process */
	handler(&b, 9);
	slow_faults(&b, FAULT_ACCESS_KNOWN, NSEC_PER_MSEC);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "probably pager (pid 9)"));
	end(&b);
}

/* The kernel counts those that it tried again as major: no swap-ins where nothing was swapped in. A
 * few that take very long are enough. */
static void test_userfault_major(void **unused)
{
	enum { READ, NONE, SWAPPED, UNKNOWN, KINDS };

	(void)unused;
	for (int k = 0; k < KINDS; k++) {
		struct bench b;

		begin(&b, &rule_userfault, 1);
		handler(&b, 7);
		if (k != UNKNOWN) {
			value(&b, SYSTEM_VMSTAT, "pswpin", 5, NULL);
			value(&b, SYSTEM_VMSTAT, "pswpin", k == SWAPPED ? 500 : 5, NULL);
		}
		PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .count = 8, .timed = 8,
			.flags = FAULT_MAJOR | FAULT_ACCESS_KNOWN,
			.map = k == READ ? MAPPING_FILE : MAPPING_ANON,
			.total_ns = 8 * NSEC_PER_SEC, .max_ns = NSEC_PER_SEC);
		if (k == NONE)
			assert_int_equal(only(&b)->level, LEVEL_WARNING);
		else
			assert_int_equal(conclude(&b), 0);
		end(&b);
	}
}

/* Quick faults, those that read or allocate, and slow ones where nobody has a userfaultfd. */
static void test_userfault_quiet(void **unused)
{
	static const struct {
		u16 flags;
		u64 ns;
		u32 handler;
	} cases[] = {{0, 2000, 7}, {FAULT_MAJOR, 5 * NSEC_PER_MSEC, 7},
		{FAULT_ALLOCATED, 5 * NSEC_PER_MSEC, 7}, {0, 5 * NSEC_PER_MSEC, 0}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;

		begin(&b, &rule_userfault, 1);
		if (cases[i].handler)
			handler(&b, cases[i].handler);
		slow_faults(&b, cases[i].flags, cases[i].ns);
		assert_int_equal(conclude(&b), 0);
		end(&b);
	}
}

static void throttled(struct bench *b, u64 hits, u64 us)
{
	struct cgroup_usage cg = {
		.h = {sizeof(cg), REC_CGROUP_MEMORY, CGROUP_HAS_PRESSURE | CGROUP_HAS_PARTS,
			NSEC_PER_SEC},
		.cgroup = 42,
		.version = 2,
		.level = 1,
		.usage_bytes = 100 * MIB,
		.limit_bytes = CGROUP_USAGE_NONE,
		.high_bytes = 96 * MIB,
		.high_hit_total = hits,
		.first_high_hit_total = 100,
		.some_total_us = us,
		.anon_bytes = 90 * MIB,
	};

	PUT(b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7, .cgroup = 42,
		.rss_bytes = 90 * MIB, .anon_bytes = 90 * MIB, .comm = "victim");
	put(b, &cg);
}

static void test_memory_high(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	group(&b, 42, "/batch");
	throttled(&b, 900, 8000000);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_CRITICAL);
	assert_string_equal(f->rule, "memory-high");
	assert_int_equal(f->tgid, 7);
	assert_non_null(strstr(f->title,
		"cgroup /batch is throttled at its memory.high of 96.0 MiB: 90 % is memory of its "
		"processes (anonymous); its tasks waited 80.0 % of the time"));
	assert_true(says(f->evidence, "memory.high was exceeded 800 times"));
	assert_true(says(f->evidence, "victim (pid 7) has 90.0 MiB"));
	assert_true(says(f->try_, "echo 150994944 > /sys/fs/cgroup/batch/memory.high"));
	assert_true(says(f->undo, "echo 100663296 >"));
	end(&b);

	begin(&b, &rule_cgroup_limit, 1); /* it costs nothing */
	group(&b, 42, "/batch");
	throttled(&b, 101, 1000);
	assert_int_equal(only(&b)->level, LEVEL_NOTE);
	end(&b);
	begin(&b, &rule_cgroup_limit, 1); /* none meanwhile */
	group(&b, 42, "/batch");
	throttled(&b, 100, 0);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

/* What fills a group, and by how much it is short, count at memory.high as at its hard limit. */
static void test_memory_high_of_cache(void **unused)
{
	static const struct {
		u64 refaults, us, max;
		int level;
		const char *title, *try;
	} cases[] = {
		{100000, 3000000, CGROUP_USAGE_NONE, LEVEL_WARNING,
			"too little of it: 10000 pages a second are read back",
			"echo 104857600 > /sys/fs/cgroup/search/memory.high"},
		{100000, 3000000, 60 * MIB, LEVEL_WARNING, "too little of it",
			"echo max > /sys/fs/cgroup/search/memory.high"},
		{100, 1000000, CGROUP_USAGE_NONE, LEVEL_NOTE, "hardly any of which is read again",
			"Nothing needs to be done"},
	};
	struct bench b;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;

		begin(&b, &rule_cgroup_limit, 1);
		group(&b, 42, "/search");
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY,
			.h.flags = CGROUP_HAS_PARTS | CGROUP_HAS_PRESSURE, .cgroup = 42,
			.version = 2, .usage_bytes = 50 * MIB, .limit_bytes = cases[i].max,
			.high_bytes = 50 * MIB, .file_bytes = 45 * MIB, .high_hit_total = 1000,
			.some_total_us = cases[i].us, .refault_file_total = cases[i].refaults);
		f = only(&b);
		assert_string_equal(f->rule, "memory-high");
		assert_int_equal(f->level, cases[i].level);
		assert_non_null(strstr(f->title, cases[i].title));
		assert_true(says(f->try_, cases[i].try));
		end(&b);
	}
}

/* 10,000 pages a second that had been out for two seconds: 20,000 are out at any time. What a
 * process of the group took meanwhile is beside that, and not what one elsewhere took. */
static void test_limit_by_what_is_out(void **unused)
{
	static const struct {
		u64 seen, grown, elsewhere;
		const char *raised;
	} cases[] = {
		{0, 0, 0, "echo 104857600 > "},
		{100, 0, 0, "echo 154828800 > "}, /* 52428800 + 5/4 * 81920000 */
		{100, 30 * MIB, 0, "echo 186286080 > "},
		{100, 0, 30 * MIB, "echo 154828800 > "},
	};
	struct bench b;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 seen = cases[i].seen;

		begin(&b, &rule_cgroup_limit, 1);
		group(&b, 42, "/search");
		group(&b, 43, "/other");
		PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 8, .cgroup = 42,
			.first_anon_bytes = 5 * MIB, .anon_bytes = 5 * MIB + cases[i].grown);
		PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 9, .cgroup = 43,
			.first_anon_bytes = 5 * MIB, .anon_bytes = 5 * MIB + cases[i].elsewhere);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .tgid = 7, .flags = CACHE_REFAULT,
			.cgroup = 42, .count = seen, .total_ns = 2 * seen * NSEC_PER_SEC);
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS,
			.cgroup = 42, .version = 2, .usage_bytes = 50 * MIB,
			.limit_bytes = 50 * MIB, .high_bytes = CGROUP_USAGE_NONE,
			.file_bytes = 45 * MIB, .limit_hit_total = 1000,
			.refault_file_total = 100000);
		assert_true(says(only(&b)->try_, cases[i].raised));
		end(&b);
	}
}

static size_t rests_told(u64 hits, u64 swapped, u64 swap_limit, u64 free, u32 version)
{
	struct bench b;
	size_t n;

	begin(&b, &rule_cgroup_limit, 1);
	group(&b, 42, "/cold");
	PUT(&b, struct system_value, REC_SYSTEM_VALUE, .value = free, .name = "SwapFree");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS, .cgroup = 42,
		.version = version, .usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB,
		.high_bytes = CGROUP_USAGE_NONE, .anon_bytes = 99 * MIB, .swap_bytes = swapped,
		.swap_limit_bytes = swap_limit, .limit_hit_total = hits);
	n = conclude(&b);
	end(&b);
	return n;
}

/* Full of what was not swapped out yet: no trouble while there is swap for the rest of it. */
static void test_limit_rests(void **unused)
{
	u64 none = CGROUP_USAGE_NONE;

	(void)unused;
	assert_int_equal(rests_told(0, 200 * MIB, none, 500 * MIB, 1), 0);
	assert_int_equal(rests_told(0, 200 * MIB, 240 * MIB, 500 * MIB, 2), 0);
	assert_int_equal(rests_told(3, 200 * MIB, none, 500 * MIB, 1), 1);      /* it was hit */
	assert_int_equal(rests_told(0, 0, none, 500 * MIB, 1), 1);              /* never swaps */
	assert_int_equal(rests_told(0, 200 * MIB, none, 20 * MIB, 1), 1);       /* swap is full */
	assert_int_equal(rests_told(0, 200 * MIB, 210 * MIB, 500 * MIB, 2), 1); /* … its part is */
	assert_int_equal(rests_told(0, 200 * MIB, 310 * MIB, 500 * MIB, 1), 1); /* … with memory */
}

static int refaults_level(u64 waited_us, u64 elsewhere)
{
	struct bench b;
	int level;

	begin(&b, &rule_cgroup_limit, 10);
	group(&b, 42, "/backup");
	for (u64 i = 0; i < 2; i++) {
		PUT(&b, struct system_pressure, REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY,
			.some_total_us = 500 + i * waited_us);
		PUT(&b, struct system_value, REC_SYSTEM_VALUE, .value = i * 5000,
			.name = "workingset_refault_file");
		PUT(&b, struct system_value, REC_SYSTEM_VALUE, .value = i * elsewhere,
			.name = "workingset_refault_anon");
	}
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS, .cgroup = 42,
		.version = 1, .usage_bytes = 50 * MIB, .limit_bytes = 50 * MIB,
		.high_bytes = CGROUP_USAGE_NONE, .file_bytes = 45 * MIB, .limit_hit_total = 1000,
		.refault_file_total = 5000);
	level = only(&b)->level;
	end(&b);
	return level;
}

/* That others wait for memory makes what this group reads back no dearer. */
static void test_limit_cheap(void **unused)
{
	(void)unused;
	assert_int_equal(refaults_level(100000, 0), LEVEL_NOTE);
	assert_true(refaults_level(2000000, 0) >= LEVEL_RISK);
	assert_int_equal(refaults_level(2000000, 95000), LEVEL_NOTE);
}

static size_t children_told(u64 children, u32 partial)
{
	struct bench b;
	size_t n;

	begin(&b, &rule_kernel_memory, 1);
	PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 7, .children = children,
		.partial = partial);
	n = conclude(&b);
	end(&b);
	return n;
}

/* Where not all processes were looked at, as many as were seen are not all. */
static void test_children(void **unused)
{
	(void)unused;
	assert_int_equal(children_told(1900, 0), 0);
	assert_int_equal(children_told(2100, 0), 1);
	assert_int_equal(children_told(1900, 1), 1);
	assert_int_equal(children_told(900, 1), 0);
}

static void sampled(struct facts *f, u64 usage, u64 anon)
{
	struct cgroup_usage cg = {
		.h = {sizeof(cg), REC_CGROUP_MEMORY, CGROUP_HAS_PARTS, NSEC_PER_SEC},
		.cgroup = 42,
		.usage_bytes = usage,
		.limit_bytes = 96 * MIB,
		.anon_bytes = anon,
	};

	assert_int_equal(facts_feed(f, &cg.h), 0);
}

/* Of what a full group has, the end counts; of what ended, the time when it was there. */
static void test_fullest(void **unused)
{
	struct facts f;

	(void)unused;
	facts_init(&f);
	sampled(&f, 96 * MIB, 10 * MIB);
	sampled(&f, 95 * MIB, 40 * MIB);
	assert_int_equal(facts_cgroup_fullest(&f, 0).anon_bytes, 40 * MIB);
	sampled(&f, MIB, MIB / 2);
	assert_int_equal(facts_cgroup_fullest(&f, 0).anon_bytes, 40 * MIB);
	assert_int_equal(facts_cgroup_fullest(&f, 0).usage_bytes, 95 * MIB);
	facts_free(&f);

	facts_init(&f); /* never full */
	sampled(&f, 60 * MIB, 50 * MIB);
	sampled(&f, 40 * MIB, 30 * MIB);
	assert_int_equal(facts_cgroup_fullest(&f, 0).anon_bytes, 50 * MIB);
	facts_free(&f);
}

static void cache(struct bench *b, const char *name, u64 first, u64 objects, u64 bytes)
{
	struct slab_usage u = {
		.h = {sizeof(u), REC_SLAB_CACHE, 0, NSEC_PER_SEC},
		.first_active_objects = first,
		.active_objects = objects,
		.objects = objects,
		.bytes = bytes,
	};

	snprintf(u.name, sizeof(u.name), "%s", name);
	put(b, &u);
}

static void test_kernel_objects(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_kernel_objects, 1);
	string(&b, 1, "proxy");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1, .files = 700,
		.kinds[FD_EPOLL] = 500);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 1, .files = 9000,
		.kinds[FD_EPOLL] = 4);
	cache(&b, "eventpoll_epi", 1000000, 8000000, 1000 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_int_equal(f->tgid, 9);
	assert_non_null(
		strstr(f->title, "proxy (pid 9) has most of the epoll descriptors: 8.00 M"));
	end(&b);

	begin(&b, &rule_kernel_objects, 1); /* spread over many: nobody is named */
	string(&b, 1, "watcher");
	for (u32 tgid = 10; tgid < 14; tgid++)
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = tgid, .name = 1,
			.kinds[FD_WATCH] = 5);
	cache(&b, "inotify_inode_mark", 400000, 400000, 32 * MIB);
	f = only(&b);
	assert_int_equal(f->tgid, 0);
	assert_non_null(strstr(f->title, ": of watcher (pid 10) or watcher (pid 11) or"));
	assert_true(says(f->try_, "`grep -sc ^inotify /proc/[0-9]*/fdinfo/*"));
	end(&b);

	/* The kernel merged the cache into another: it is theirs where somebody has descriptors. */
	for (u32 watches = 0; watches < 2; watches++) {
		struct slab_usage u = {.h = {sizeof(u), REC_SLAB_CACHE, 0, NSEC_PER_SEC},
			.first_active_objects = 400000,
			.active_objects = 400000,
			.bytes = 32 * MIB,
			.name = "sigqueue",
			.also = SLAB_INOTIFY_NAME};

		begin(&b, &rule_kernel_objects, 1);
		string(&b, 1, "watcher");
		put(&b, &u);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1, .files = 700,
			.kinds[FD_WATCH] = watches);
		if (watches) {
			f = only(&b);
			assert_non_null(strstr(f->title, "(pid 9) has most of the inotify and "
							 "fanotify descriptors: up to 400 k "));
			assert_non_null(strstr(f->confidence, "low: other objects"));
			assert_true(says(f->evidence,
				"sigqueue, into which the kernel merged inotify_inode_mark"));
			assert_true(says(f->verify, "`grep sigqueue /proc/slabinfo`"));
		} else {
			assert_int_equal(conclude(&b), 0);
		}
		end(&b);
	}

	begin(&b, &rule_kernel_objects, 1); /* keys hang on no descriptor: nobody is named */
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .files = 700, .kinds = {9});
	cache(&b, "key_jar", 1000000, 1000000, 250 * MIB);
	f = only(&b);
	assert_string_equal(f->title, "1.00 M keys (keyrings) kept by the kernel, about 372 MiB");
	assert_int_equal(f->tgid, 0);
	assert_true(says(f->try_, "`cat /proc/key-users`"));
	end(&b);

	begin(&b, &rule_kernel_objects, 1); /* few, and large */
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .files = 700,
		.kinds[FD_OTHER] = 50);
	cache(&b, "net_namespace", 850, 854, 4 * MIB);
	cache(&b, "sock_inode_cache", 9000, 9000, 8 * MIB);
	f = only(&b);
	assert_string_equal(f->title, "854 network namespaces kept by the kernel, about 171 MiB");
	assert_true(says(f->try_, "`lsns -t net`"));
	end(&b);

	begin(&b, &rule_kernel_objects, 1); /* their sockets are gone, and so are they */
	cache(&b, "net_namespace", 850, 854, 4 * MIB);
	cache(&b, "sock_inode_cache", 145, 145, MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);

	begin(&b, &rule_kernel_objects, 1); /* nearly as many descriptors as there are of them */
	string(&b, 1, "sandbox");
	for (u32 tgid = 9; tgid < 20; tgid++)
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = tgid, .name = 1,
			.files = 800, .kinds[FD_OTHER] = tgid == 9 ? 790 : 300);
	cache(&b, "net_namespace", 850, 854, 4 * MIB);
	cache(&b, "sock_inode_cache", 9000, 9000, 8 * MIB);
	f = only(&b);
	assert_int_equal(f->tgid, 9);
	assert_non_null(strstr(f->title, "sandbox (pid 9) has most of the descriptors that may be "
					 "of namespaces: 854 network"));
	end(&b);

	begin(&b, &rule_kernel_objects, 1);
	cache(&b, "file_lock_cache", 600000, 600000, 115 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "600 k locks on files"));
	assert_true(says(f->try_, "/proc/locks"));
	end(&b);

	begin(&b, &rule_kernel_objects, 1); /* a busy server */
	cache(&b, "net_namespace", 40, 90, 4 * MIB);
	cache(&b, "file_lock_cache", 400, 40000, 8 * MIB);
	cache(&b, "eventpoll_epi", 30000, 60000, 8 * MIB);
	cache(&b, "dentry", 0, 9000000, 1700 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void percpu(struct bench *b, u64 first, u64 last, u64 taken)
{
	value(b, SYSTEM_MEMINFO, "Percpu", first, NULL);
	value(b, SYSTEM_MEMINFO, "Percpu", last, NULL);
	PUT(b, struct waits_made, REC_WAITS_MADE, .tgid = 7, .kind = WAITS_PERCPU, .count = 900,
		.bytes = taken);
	PUT(b, struct waits_made, REC_WAITS_MADE, .tgid = 8, .kind = WAITS_PERCPU, .count = 9,
		.bytes = taken / 9);
}

static void test_percpu_growth(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_percpu_growth, 1);
	percpu(&b, 900 * MIB, 1000 * MIB, 45 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_int_equal(f->tgid, 7);
	assert_non_null(strstr(f->title, "victim (pid 7) makes the kernel's per-CPU memory grow"));
	end(&b);

	begin(&b, &rule_percpu_growth, 1); /* taken was far less than what grew: by memwhy itself */
	percpu(&b, 100 * MIB, 200 * MIB, MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);

	begin(&b, &rule_percpu_growth, 1);
	percpu(&b, 100 * MIB, 104 * MIB, 2 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void slab_grew(struct bench *b)
{
	value(b, SYSTEM_MEMINFO, "Slab", 100 * MIB, NULL);
	value(b, SYSTEM_MEMINFO, "SUnreclaim", 50 * MIB, NULL);
	value(b, SYSTEM_MEMINFO, "Slab", 300 * MIB, NULL);
	value(b, SYSTEM_MEMINFO, "SUnreclaim", 240 * MIB, NULL);
}

/* Blocks that are in no cache grew: whose pipes did, else who takes such blocks in a sample. */
static void test_large_growth_who(void **unused)
{
	(void)unused;
	for (u64 pipes = 0; pipes < 2; pipes++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_slab_growth, 1);
		slab_grew(&b);
		PUT(&b, struct slab_usage, REC_SLAB_CACHE, .name = SLAB_LARGE_NAME,
			.first_bytes = 7 * MIB, .bytes = 187 * MIB);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .files = 300);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .files = 9300,
			.slots_bytes = pipes * 170 * MIB);
		PUT(&b, struct pages_alloc, REC_PAGES_ALLOC, .who.tgid = 7, .who.order = 2,
			.count = 200);
		PUT(&b, struct pages_alloc, REC_PAGES_ALLOC, .who.tgid = 11, .who.order = 0,
			.count = 100000);
		PUT(&b, struct pages_alloc, REC_PAGES_ALLOC, .who.tgid = 11, .who.order = 9,
			.who.migratetype = 1, .count = 1000);
		PUT(&b, struct pages_sampled, REC_PAGES_SAMPLED, .bursts = 5,
			.on_ns = 200 * NSEC_PER_MSEC, .covered_ns = 10 * NSEC_PER_SEC);
		assert_int_equal(conclude(&b), 2);
		f = &b.report.findings.v[0];
		assert_string_equal(f->rule, "slab-growth");
		assert_int_equal(f->tgid, pipes ? 9 : 7);
		assert_true(says(f->evidence, "in no slab cache, grew most: by 180 MiB"));
		assert_true(says(f->evidence, pipes ? "170 MiB more in its pipes' buffer arrays"
						    : "took 156 MiB in blocks"));
		end(&b);
	}
}

/* Who opens files meanwhile; else who takes memory on each CPU all the time, not much at once. */
static void test_slab_growth_who(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_slab_growth, 1);
	slab_grew(&b);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 7, .files = 300, .start_ns = 1);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 7, .files = 9300, .start_ns = 1);
	f = only(&b);
	assert_int_equal(f->tgid, 7);
	assert_non_null(strstr(f->title, "probably by victim (pid 7)"));
	assert_true(says(f->evidence, "9000 more files open"));
	end(&b);

	begin(&b, &rule_slab_growth, 1);
	slab_grew(&b);
	value(&b, SYSTEM_MEMINFO, "Percpu", 10 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "Percpu", 20 * MIB, NULL);
	for (u64 i = 0; i < 8; i++) {
		struct waits_made m = {
			.h = {sizeof(m), REC_WAITS_MADE, 0, (1 + i) * NSEC_PER_SEC},
			.tgid = 7,
			.kind = WAITS_PERCPU,
			.count = 100,
		};

		put(&b, &m);
	}
	PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = 9, .kind = WAITS_PERCPU, .count = 65000);
	assert_int_equal(only(&b)->tgid, 7);
	end(&b);

	begin(&b, &rule_slab_growth, 1); /* who forks and forks */
	slab_grew(&b);
	PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 7, .children = 200);
	PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 7, .children = 1700);
	f = only(&b);
	assert_int_equal(f->tgid, 7);
	assert_true(says(f->evidence, "1500 more children"));
	end(&b);

	begin(&b, &rule_slab_growth, 1);
	slab_grew(&b);
	assert_int_equal(only(&b)->tgid, 0);
	end(&b);
}

/* Who took about as much for the kernel as grew, and did not free it; not who frees as much as he
 * takes, and nobody where two did, or one took many times as much. */
static void test_slab_growth_pages(void **unused)
{
	static const struct {
		u64 mine, freed, other, drains;
		u32 who;
	} cases[] = {
		{250, 0, 40, 4, 7},
		{250, 200, 40, 4, 0}, /* as a pipe's writer and reader in one do */
		{250, 0, 250, 4, 0},
		{2500, 0, 40, 4, 0},
		{250, 0, 40, 2, 0}, /* in two drains of the ten: a start */
		{60, 0, 0, 4, 0},
	};

	(void)unused;
	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_slab_growth, 1);
		slab_grew(&b);
		PUT(&b, struct pages_sampled, REC_PAGES_SAMPLED, .bursts = 5,
			.on_ns = 200 * NSEC_PER_MSEC, .covered_ns = 10 * NSEC_PER_SEC);
		for (u64 i = 1; i <= cases[n].drains; i++) {
			PUT_AT(&b, i * NSEC_PER_SEC, struct pages_alloc, REC_PAGES_ALLOC,
				.who.tgid = 7, .who.order = 1,
				.count = cases[n].mine * 2 / cases[n].drains);
			PUT_AT(&b, i * NSEC_PER_SEC, struct pages_alloc, REC_PAGES_ALLOC,
				.who.tgid = 9, .count = cases[n].other * 4 / cases[n].drains);
			/* what can be moved is of programs */
			PUT_AT(&b, i * NSEC_PER_SEC, struct pages_alloc, REC_PAGES_ALLOC,
				.who.tgid = 11, .who.migratetype = 1, .count = 300);
		}
		PUT(&b, struct pages_free, REC_PAGES_FREE, .who.tgid = 7, .who.order = 2,
			.count = cases[n].freed);
		f = only(&b);
		assert_int_equal(f->tgid, cases[n].who);
		if (cases[n].who)
			assert_true(
				says(f->evidence, "more of pages for the kernel than it freed"));
		end(&b);
	}
}

static void heap(struct bench *b, u64 anon, u64 live, u64 kept)
{
	string(b, 1, "server");
	PUT(b, struct held_heap, REC_HELD_HEAP, .tgid = 7, .name = 1, .arenas = 8,
		.anon_bytes = anon, .system_bytes = anon, .live_bytes = live, .kept_bytes = kept,
		.trimmable_bytes = kept / 2);
}

static void test_allocator_keeps(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_allocator_keeps, 1);
	heap(&b, 1200 * MIB, 200 * MIB, 900 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "server (pid 7) keeps 900 MiB of freed memory"));
	assert_true(says(f->try_, "malloc_trim(0)"));
	assert_true(says(f->try_, "MALLOC_ARENA_MAX=2"));
	end(&b);

	begin(&b, &rule_allocator_keeps, 1); /* most of it is in use */
	heap(&b, 6000 * MIB, 5000 * MIB, 900 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	/* A large heap of which a part was walked: that part decides. */
	begin(&b, &rule_allocator_keeps, 1);
	string(&b, 1, "server");
	PUT(&b, struct held_heap, REC_HELD_HEAP, .tgid = 7, .name = 1, .arenas = 4, .partial = 3,
		.anon_bytes = 1000 * MIB, .system_bytes = 1000 * MIB, .live_bytes = 20 * MIB,
		.free_bytes = 230 * MIB, .kept_bytes = 200 * MIB, .trimmable_bytes = 200 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "keeps at least 200 MiB, probably about 800 MiB, of freed "
					 "memory, 80 % of what was read"));
	assert_int_equal(f->level, LEVEL_RISK);
	assert_true(says(f->evidence,
		"250 MiB of its heap was read; if the rest is like it, it keeps about 800 MiB"));
	end(&b);
	begin(&b, &rule_allocator_keeps, 1);
	PUT(&b, struct held_heap, REC_HELD_HEAP, .tgid = 7, .name = 1, .arenas = 4, .partial = 3,
		.anon_bytes = 6000 * MIB, .system_bytes = 6000 * MIB, .live_bytes = 220 * MIB,
		.free_bytes = 30 * MIB, .kept_bytes = 60 * MIB, .trimmable_bytes = 20 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	/* Few arenas: nothing to set, and nothing to undo. */
	begin(&b, &rule_allocator_keeps, 1);
	PUT(&b, struct held_heap, REC_HELD_HEAP, .tgid = 7, .name = 1, .arenas = 1,
		.anon_bytes = 1000 * MIB, .live_bytes = 20 * MIB, .free_bytes = 900 * MIB,
		.kept_bytes = 900 * MIB, .trimmable_bytes = 900 * MIB);
	f = only(&b);
	assert_false(says(f->try_, "MALLOC_ARENA_MAX"));
	assert_false(says(f->undo, "MALLOC_ARENA_MAX"));
	end(&b);
	begin(&b, &rule_allocator_keeps, 1); /* little */
	heap(&b, 140 * MIB, 10 * MIB, 30 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void other_heap(
	struct bench *b, const char *name, const char *allocator, u64 live, u64 between, u64 kept)
{
	string(b, 1, name);
	string(b, 2, allocator);
	PUT(b, struct held_heap, REC_HELD_HEAP, .tgid = 7, .name = 1, .allocator = 2,
		.anon_bytes = 1000 * MIB, .system_bytes = live + between + kept, .live_bytes = live,
		.free_bytes = between, .kept_bytes = kept, .trimmable_bytes = kept,
		.decay_ms = 10000);
	PUT(b, struct held_heap, REC_HELD_HEAP, .tgid = 7, .name = 1, .arenas = 1,
		.anon_bytes = 1000 * MIB, .live_bytes = MIB); /* what glibc has beside it */
}

/* Allocators other than glibc's: what gives back pages, and what gives back what is between live
 * blocks. */
static void test_allocator_keeps_others(void **unused)
{
	static const struct {
		const char *allocator, *call, *setting;
	} of[] = {
		{"jemalloc", "gdb -p 7 -batch -ex 'call (int)mallctl(\"arena.4096.purge\"",
			"MALLOC_CONF=background_thread:true,dirty_decay_ms:1000 COMMAND"},
		{"tcmalloc", "MallocExtension_ReleaseFreeMemory()",
			"TCMALLOC_AGGRESSIVE_DECOMMIT=t COMMAND"},
		{"mimalloc", NULL, "MIMALLOC_DECOMMIT_DELAY=0 COMMAND"},
	};
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		begin(&b, &rule_allocator_keeps, 1);
		other_heap(&b, "server", of[i].allocator, 100 * MIB, 0, 900 * MIB);
		f = only(&b);
		assert_int_equal(f->level, LEVEL_RISK);
		assert_non_null(strstr(f->title, "server (pid 7) keeps 900 MiB"));
		assert_non_null(strstr(f->title, of[i].allocator));
		assert_int_equal(says(f->try_, "gdb"), of[i].call != NULL);
		assert_true(!of[i].call || says(f->try_, of[i].call));
		assert_true(says(f->try_, of[i].setting));
		assert_int_equal(says(f->evidence, "dirty_decay_ms is 10000"), !i);
		assert_false(says(f->try_, "restart"));
		end(&b);
	}
	begin(&b, &rule_allocator_keeps, 1);
	other_heap(&b, "server", "jemalloc", 100 * MIB, 880 * MIB, 20 * MIB);
	f = only(&b);
	assert_true(says(
		f->evidence, "880 MiB of it is free blocks on pages that also hold live ones"));
	assert_true(says(f->try_, "No setting gives back these 880 MiB"));
	assert_false(says(f->try_, "MALLOC_CONF"));
	end(&b);
	begin(&b, &rule_allocator_keeps, 1);
	other_heap(&b, "server", "jemalloc", 100 * MIB, 500 * MIB, 400 * MIB);
	f = only(&b);
	assert_true(says(f->try_, "MALLOC_CONF"));
	assert_true(says(f->try_, "No setting gives back the other 500 MiB"));
	end(&b);
	begin(&b, &rule_allocator_keeps, 1);
	other_heap(&b, "redis-server", "jemalloc", 100 * MIB, 500 * MIB, 400 * MIB);
	f = only(&b);
	assert_true(says(f->try_, "redis-cli MEMORY PURGE"));
	assert_true(says(f->try_, "redis-cli CONFIG SET activedefrag yes"));
	assert_true(says(f->undo, "redis-cli CONFIG SET activedefrag no"));
	assert_true(says(f->try_, "redis-cli SHUTDOWN SAVE"));
	end(&b);
	/* Pages that were never touched are in none of these. */
	begin(&b, &rule_allocator_keeps, 1);
	other_heap(&b, "server", "jemalloc", 800 * MIB, 500 * MIB, 900 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dead_groups),
		cmocka_unit_test(test_dead_groups_of_children),
		cmocka_unit_test(test_dead_groups_quiet),
		cmocka_unit_test(test_dead_groups_kept),
		cmocka_unit_test(test_unread_fills_group),
		cmocka_unit_test(test_files_fill_group),
		cmocka_unit_test(test_shootdowns),
		cmocka_unit_test(test_shootdowns_quiet),
		cmocka_unit_test(test_userfault),
		cmocka_unit_test(test_userfault_major),
		cmocka_unit_test(test_userfault_quiet),
		cmocka_unit_test(test_memory_high),
		cmocka_unit_test(test_memory_high_of_cache),
		cmocka_unit_test(test_limit_by_what_is_out),
		cmocka_unit_test(test_limit_rests),
		cmocka_unit_test(test_limit_cheap),
		cmocka_unit_test(test_fullest),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_kernel_objects),
		cmocka_unit_test(test_percpu_growth),
		cmocka_unit_test(test_slab_growth_who),
		cmocka_unit_test(test_slab_growth_pages),
		cmocka_unit_test(test_large_growth_who),
		cmocka_unit_test(test_allocator_keeps),
		cmocka_unit_test(test_allocator_keeps_others),
	};

	return cmocka_run_group_tests_name("rules_kernel", tests, NULL, NULL);
}
