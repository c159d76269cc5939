/* Rules of check on fault storms, waits, the page cache and growth: on made-up records each speaks
 * when it should, names who did it, and stays silent else. */
#include "view_fixture.h"

#include "base/clock.h"
#include "probes/cache/cache.h"
#include "probes/cgroups/cgroups.h"
#include "probes/faults/faults.h"
#include "probes/mmcalls/mmcalls.h"
#include "probes/processes/processes.h"
#include "probes/system/system.h"
#include "probes/waits/waits.h"
#include "rules/rules.h"

#define MIB (1ULL << 20)
#define HALF_SECOND(i_) (NSEC_PER_SEC + (i_)*NSEC_PER_SEC / 2)

#define PUT(f_, type_, kind_, ...)                         \
	({                                                 \
		type_ r_ = REC(type_, kind_, __VA_ARGS__); \
		view_feed((f_), &r_);                      \
	})

/* The same with a head: flags, time. */
#define PUT_AT(f_, type_, kind_, flags_, ns_, ...)                                        \
	({                                                                                \
		type_ r_ = {.h = {sizeof(type_), (kind_), (flags_), (ns_)}, __VA_ARGS__}; \
		view_feed((f_), &r_);                                                     \
	})

static void begin(struct fixture *f, const struct view *rule)
{
	struct rec_session session = {.h = {sizeof(session), REC_SESSION, 0, NSEC_PER_SEC}};

	view_open(f, rule, &(struct view_options){}, "check");
	view_feed(f, &session);
	PUT(f, struct rec_host, REC_HOST, .cpus = 2, .nodes = 1, .page_bytes = 4096,
		.memory_bytes = 8192 * MIB);
	PUT(f, struct rec_task, REC_TASK, .tgid = 7, .cgroup = 42, .comm = "writer");
	PUT(f, struct rec_task, REC_TASK, .tgid = 8, .cgroup = 42, .comm = "reader");
}

/* Ends ten seconds; returns how many findings there are. */
static size_t conclude(struct fixture *f)
{
	struct rec_tick end = {.h = {sizeof(end), REC_END, 0, 11 * NSEC_PER_SEC}};

	view_feed(f, &end);
	view_report(f);
	return f->report.findings.n;
}

static const struct finding *only(struct fixture *f)
{
	assert_int_equal(conclude(f), 1);
	return &f->report.findings.v[0];
}

static bool says(const char *const lines[FINDING_LINES], const char *text)
{
	for (int i = 0; i < FINDING_LINES && lines[i]; i++)
		if (strstr(lines[i], text))
			return true;
	return false;
}

#define COPIED (FAULT_ACCESS_KNOWN | FAULT_WRITE | FAULT_PRESENT | FAULT_ALLOCATED)
#define TOUCHED (FAULT_ACCESS_KNOWN | FAULT_WRITE | FAULT_ALLOCATED)

static void faults(struct fixture *f, u32 tgid, u16 flags, u64 count, u64 ns)
{
	PUT(f, struct faults_agg, REC_FAULTS_AGG, .tgid = tgid, .flags = flags, .count = count,
		.timed = count, .total_ns = ns);
}

static void memory(struct fixture *f, u32 tgid, u32 ppid, u64 first, u64 now)
{
	PUT(f, struct process_memory, REC_PROCESS_MEMORY, .tgid = tgid, .ppid = ppid, .start_ns = 5,
		.first_anon_bytes = first, .anon_bytes = now, .comm = "writer");
}

static void test_copies_of_parent(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_copy_on_write);
	memory(&f, 7, 1, 512 * MIB, 512 * MIB);
	memory(&f, 8, 7, 512 * MIB, 512 * MIB);
	faults(&f, 7, COPIED, 200000, 2 * NSEC_PER_SEC);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_int_equal(x->cost_ns, 2 * NSEC_PER_SEC);
	assert_non_null(strstr(x->title, "writer (pid 7) copies 20000 pages a second"));
	assert_true(says(x->evidence, "shares pages with reader (pid 8)"));
	view_close(&f);
}

/* A server that starts: it and its parent began within the look. Children alone come all the time.
 */
static void test_copies_at_a_start(void **unused)
{
	(void)unused;
	for (u64 parent = 5; parent <= 2 * NSEC_PER_SEC; parent += 2 * NSEC_PER_SEC - 5) {
		struct fixture f;

		begin(&f, &rule_copy_on_write);
		PUT(&f, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7, .ppid = 1,
			.start_ns = parent, .anon_bytes = 512 * MIB, .comm = "writer");
		PUT(&f, struct process_memory, REC_PROCESS_MEMORY, .tgid = 8, .ppid = 7,
			.start_ns = 3 * NSEC_PER_SEC, .anon_bytes = 100 * MIB, .comm = "reader");
		f.stream.first_ns = NSEC_PER_SEC;
		faults(&f, 8, COPIED, 200000, 2 * NSEC_PER_SEC);
		assert_int_equal(only(&f)->level, parent == 5 ? LEVEL_WARNING : LEVEL_NOTE);
		view_close(&f);
	}
}

/* Each worker copies little; together they lose as much, and are told by their program. */
static void test_copies_of_workers(void **unused)
{
	struct fixture f;
	u32 tgid;

	(void)unused;
	begin(&f, &rule_copy_on_write);
	for (tgid = 100; tgid < 110; tgid++) {
		PUT(&f, struct rec_task, REC_TASK, .tgid = tgid, .cgroup = 42, .comm = "worker");
		faults(&f, tgid, COPIED, 20000, 150 * NSEC_PER_MSEC);
	}
	assert_non_null(strstr(only(&f)->title, "worker (10 processes"));
	view_close(&f);
}

/* A child with a name of its own that copies as its parent does is one story with it. */
static void test_copies_of_a_saver(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_copy_on_write);
	memory(&f, 7, 1, 512 * MIB, 512 * MIB);
	memory(&f, 8, 7, 512 * MIB, 512 * MIB);
	faults(&f, 7, COPIED, 60000, NSEC_PER_SEC);
	faults(&f, 8, COPIED, 40000, NSEC_PER_SEC / 2);
	x = only(&f);
	assert_non_null(strstr(x->title, "writer (2 processes"));
	assert_int_equal(x->cost_ns, 3 * NSEC_PER_SEC / 2);
	view_close(&f);
}

/* The child of a large one is gone soon: few pages are copied, but each is a fault all the same. */
static void test_copies_taken_back(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_copy_on_write);
	memory(&f, 7, 1, 900 * MIB, 900 * MIB);
	memory(&f, 8, 7, 900 * MIB, 900 * MIB);
	faults(&f, 7, COPIED, 1500, 10 * NSEC_PER_MSEC);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_NOTE);
	view_close(&f);

	begin(&f, &rule_copy_on_write);
	memory(&f, 7, 1, 900 * MIB, 900 * MIB);
	memory(&f, 8, 7, 900 * MIB, 900 * MIB);
	faults(&f, 7, COPIED, 1500, 10 * NSEC_PER_MSEC);
	faults(&f, 7, COPIED & (u16)~FAULT_ALLOCATED, 90000, 400 * NSEC_PER_MSEC);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_RISK);
	assert_int_equal(x->cost_ns, 410 * NSEC_PER_MSEC);
	assert_true(says(x->evidence, "90000 more faults"));
	view_close(&f);

	begin(&f, &rule_copy_on_write); /* its parent is small: it copies pages of a file */
	memory(&f, 7, 6, 900 * MIB, 900 * MIB);
	memory(&f, 6, 1, MIB, MIB);
	faults(&f, 7, COPIED, 2500, 10 * NSEC_PER_MSEC);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);

	/* It has nobody's pages, and did not fork: it had read what it writes to. */
	for (u64 forks = 0; forks < 2; forks++) {
		begin(&f, &rule_copy_on_write);
		memory(&f, 7, 1, 200 * MIB, 200 * MIB);
		memory(&f, 8, 7, MIB, MIB); /* a child that runs another program */
		if (forks)
			PUT(&f, struct waits_made, REC_WAITS_MADE, .tgid = 7, .kind = WAITS_FORKED,
				.count = 1);
		faults(&f, 7, COPIED, 200000, 2 * NSEC_PER_SEC);
		x = only(&f);
		assert_int_equal(!!strstr(x->title, "that it had only read before"), !forks);
		assert_int_equal(!!strstr(x->title, "after fork"), forks);
		assert_int_equal(says(x->evidence, "shares pages"), forks);
		view_close(&f);
	}

	begin(&f, &rule_copy_on_write); /* a shell is not large */
	memory(&f, 7, 1, 20 * MIB, 20 * MIB);
	memory(&f, 8, 7, 20 * MIB, 20 * MIB);
	faults(&f, 7, COPIED, 900, 10 * NSEC_PER_MSEC);
	faults(&f, 7, COPIED & (u16)~FAULT_ALLOCATED, 90000, 400 * NSEC_PER_MSEC);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

/* What a fork costs goes by the memory of who forks, before a single page is copied. */
static void test_fork_cost(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	for (u64 forks = 4; forks <= 40; forks *= 10) {
		begin(&f, &rule_fork_cost);
		memory(&f, 7, 1, 2048 * MIB, 2048 * MIB);
		memory(&f, 8, 1, 20 * MIB, 20 * MIB);
		PUT(&f, struct waits_made, REC_WAITS_MADE, .tgid = 7, .kind = WAITS_FORKED,
			.count = forks);
		PUT(&f, struct waits_made, REC_WAITS_MADE, .tgid = 8, .kind = WAITS_FORKED,
			.count = 4000);
		if (forks == 40) {
			x = only(&f);
			assert_int_equal(x->level, LEVEL_WARNING);
			assert_int_equal(x->tgid, 7);
			assert_int_equal(x->cost_ns, 40ULL * 524288 * 120);
			assert_non_null(strstr(x->title, "forks 4.0 times a second with 2.00 GiB"));
		} else {
			assert_int_equal(conclude(&f), 0);
		}
		view_close(&f);
	}
}

static void collects(struct fixture *f, u64 start_ns, u64 per_second_ns, u64 cpu_ns)
{
	begin(f, &rule_garbage_collection);
	for (u64 i = 1; i <= 9; i += 2) {
		struct process_memory m = REC(struct process_memory, REC_PROCESS_MEMORY, .tgid = 7,
			.start_ns = start_ns, .anon_bytes = 250 * MIB,
			.heap_limit_bytes = 256 * MIB, .collector_ns = NSEC_PER_SEC);

		m.h.time_ns = 100 * NSEC_PER_SEC + i * NSEC_PER_SEC;
		m.collector_ns += i / 4 * 4 * per_second_ns; /* it is read less often */
		m.utime_ns = i * cpu_ns;
		view_feed(f, &m);
	}
}

/* A heap that is too small costs the CPU time of its collector. */
static void test_collector(void **unused)
{
	const u64 ms = NSEC_PER_MSEC;
	const struct {
		u64 start_ns, collector_ns, cpu_ns;
		int level; /* -1: nothing is told */
	} cases[] = {{1, 900 * ms, 1000 * ms, LEVEL_WARNING}, {1, 300 * ms, 400 * ms, LEVEL_RISK},
		{1, 100 * ms, 120 * ms, -1}, {1, 300 * ms, 1000 * ms, -1}, {1, 0, 1000 * ms, -1},
		{95 * NSEC_PER_SEC, 900 * ms, 1000 * ms, LEVEL_NOTE}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;

		collects(&f, cases[i].start_ns, cases[i].collector_ns, cases[i].cpu_ns);
		assert_int_equal(conclude(&f), cases[i].level >= 0);
		if (cases[i].level >= 0) {
			const struct finding *x = &f.report.findings.v[0];

			assert_int_equal(x->level, cases[i].level);
			assert_int_equal(x->cost_ns, 8 * cases[i].collector_ns);
			assert_non_null(strstr(x->title, "of its CPU time collecting garbage: its "
							 "heap of 256 MiB is too small"));
			assert_true(says(x->evidence, "heap 256 MiB: all of it is taken"));
			assert_true(says(x->try_, "-Xmx512m"));
		}
		view_close(&f);
	}
}

/* A heap in swap is not too small: a larger one would not fit either. */
static void test_collector_swaps(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	collects(&f, 1, 900 * NSEC_PER_MSEC, NSEC_PER_SEC);
	PUT(&f, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 1,
		.limit_bytes = 200 * MIB, .usage_bytes = 199 * MIB);
	PUT(&f, struct process_memory, REC_PROCESS_MEMORY, .h.flags = PROCESS_EXACT, .tgid = 7,
		.start_ns = 1, .cgroup = 42, .anon_bytes = 180 * MIB, .swap_bytes = 70 * MIB,
		.heap_limit_bytes = 256 * MIB, .collector_ns = 8200 * NSEC_PER_MSEC);
	x = only(&f);
	assert_non_null(strstr(x->title, "70.0 MiB of its memory is in swap"));
	assert_true(x->symptom && x->advises && x->losses == LOSS_SWAP && x->cgroup == 42);
	assert_non_null(strstr(x->try_[0], "-Xmx150m")); /* the line that stays */
	assert_true(says(x->try_, "limit of its cgroup (200 MiB): -Xmx150m, instead of 256 MiB"));
	assert_false(says(x->try_, "-Xmx512m"));
	view_close(&f);

	collects(&f, 1, 900 * NSEC_PER_MSEC, NSEC_PER_SEC);
	PUT(&f, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 1,
		.limit_bytes = 400 * MIB, .usage_bytes = 300 * MIB);
	PUT(&f, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7, .start_ns = 1, .cgroup = 42,
		.anon_bytes = 250 * MIB, .heap_limit_bytes = 256 * MIB,
		.collector_ns = 8200 * NSEC_PER_MSEC);
	assert_true(says(only(&f)->try_, "-Xmx512m, but first raise the limit of its cgroup"));
	view_close(&f);
}

/* Shells that start commands copy a few pages each; first touches are no copies. */
static void test_copies_of_shells(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, &rule_copy_on_write);
	for (u32 tgid = 100; tgid < 600; tgid++) {
		PUT(&f, struct rec_task, REC_TASK, .tgid = tgid, .cgroup = 42, .comm = "sh");
		faults(&f, tgid, COPIED, 100, NSEC_PER_MSEC);
	}
	/* One script that starts many: small as it is, its copies are no trouble. */
	memory(&f, 9, 1, 2 * MIB, 2 * MIB);
	memory(&f, 10, 9, 2 * MIB, 2 * MIB);
	faults(&f, 9, COPIED, 80000, 240 * NSEC_PER_MSEC);
	faults(&f, 7, TOUCHED, 200000, 2 * NSEC_PER_SEC);
	faults(&f, 0, COPIED | FAULT_NAMED, 200000, 2 * NSEC_PER_SEC); /* of many shells */
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

static void value(struct fixture *f, const char *name, u64 v);

static void test_touched_again(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_touch_again);
	memory(&f, 7, 1, 32 * MIB, 32 * MIB);
	memory(&f, 7, 1, 32 * MIB, 30 * MIB);
	faults(&f, 7, TOUCHED, 1000000, 2 * NSEC_PER_SEC);
	PUT(&f, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = 7, .call = MMCALLS_MADVISE,
		.advice = 4, .count = 60, .bytes = 60 * 32 * MIB);
	PUT(&f, struct mmcalls_sampled, REC_MMCALLS_SAMPLED, .bursts = 10,
		.on_ns = NSEC_PER_SEC / 2, .covered_ns = 10 * NSEC_PER_SEC);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_RISK);
	assert_non_null(strstr(x->title,
		"writer (pid 7) gives memory back by madvise(MADV_DONTNEED) and touches it again"));
	assert_true(says(x->evidence, "120 times a second, for 3.75 GiB"));
	view_close(&f);
}

/* A compiler does so too, and is over soon. */
static void test_touched_again_young(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, &rule_touch_again);
	for (int i = 0; i < 3; i++)
		PUT(&f, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7,
			.start_ns = 3 * NSEC_PER_SEC, .anon_bytes = 64 * MIB, .comm = "cc1");
	faults(&f, 7, TOUCHED, 400000, 4 * NSEC_PER_SEC);
	assert_int_equal(only(&f)->level, LEVEL_NOTE);
	view_close(&f);
}

/* New shared memory, made, passed on and let go, is no matter of an allocator; files that it maps
 * are no shared memory, nor is what an earlier process of its number had. */
static void test_touched_shared(void **unused)
{
	enum { ANON, SHARED, FILES, EARLIER };

	(void)unused;
	for (int what = ANON; what <= EARLIER; what++) {
		const struct finding *x;
		struct fixture f;

		begin(&f, &rule_touch_again);
		for (u64 i = 0; i < 8; i++) {
			u64 swing = i % 2 * 20 * MIB, own = what == EARLIER && i > 3;

			PUT(&f, struct process_memory, REC_PROCESS_MEMORY, .h.flags = PROCESS_EXACT,
				.tgid = 7, .ppid = 1, .start_ns = 5 + own,
				.first_anon_bytes = 40 * MIB,
				.anon_bytes = 40 * MIB + (what == ANON || own ? swing : 0),
				.rss_bytes = 70 * MIB + swing,
				.rss_shmem_bytes =
					MIB +
					(what == SHARED || (what == EARLIER && !own) ? swing : 0),
				.comm = "writer");
		}
		faults(&f, 7, TOUCHED, 400000, 4 * NSEC_PER_SEC);
		x = only(&f);
		assert_int_equal(x->level, what == SHARED ? LEVEL_NOTE : LEVEL_WARNING);
		assert_int_equal(says(x->try_, "reuse one segment"), what == SHARED);
		view_close(&f);
	}
}

/* One that is too small to be sampled is known by its calls; shared memory is not given back. */
static void test_touched_again_small(void **unused)
{
	struct fixture f;

	(void)unused;
	for (u64 bytes = 40 * MIB; bytes >= MIB; bytes /= 40) {
		begin(&f, &rule_touch_again);
		faults(&f, 7, TOUCHED, 200000, 2 * NSEC_PER_SEC);
		PUT(&f, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = 7, .call = MMCALLS_MUNMAP,
			.count = 100, .bytes = bytes);
		PUT(&f, struct mmcalls_sampled, REC_MMCALLS_SAMPLED, .on_ns = NSEC_PER_SEC / 2,
			.covered_ns = 10 * NSEC_PER_SEC);
		assert_int_equal(conclude(&f), bytes > MIB);
		view_close(&f);
	}
	begin(&f, &rule_touch_again);
	memory(&f, 7, 1, 2 * MIB, 2 * MIB);
	memory(&f, 7, 1, 2 * MIB, 2 * MIB);
	value(&f, "Shmem", 10 * MIB);
	faults(&f, 7, TOUCHED, 200000, 2 * NSEC_PER_SEC);
	value(&f, "Shmem", 700 * MIB);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

/* What is touched and kept is growth, or a start; who was seen once only has not lived on. */
static void test_touched_once(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, &rule_touch_again);
	memory(&f, 7, 1, 0, 100 * MIB);
	memory(&f, 7, 1, 0, 4000 * MIB);
	faults(&f, 7, TOUCHED, 1000000, 2 * NSEC_PER_SEC);
	memory(&f, 8, 1, 0, 10 * MIB);
	faults(&f, 8, TOUCHED, 1000000, 2 * NSEC_PER_SEC);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
	/* Kept, and no anonymous memory. */
	for (u64 rss = 10; rss <= 410; rss += 400) {
		begin(&f, &rule_touch_again);
		for (u64 i = 0; i < 3; i++)
			PUT(&f, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7, .ppid = 1,
				.start_ns = 5, .first_anon_bytes = 6 * MIB, .anon_bytes = 6 * MIB,
				.rss_bytes = (10 + i * (rss - 10) / 2) * MIB, .comm = "writer");
		faults(&f, 7, TOUCHED, 102400, 2 * NSEC_PER_SEC);
		assert_int_equal(conclude(&f), rss == 10);
		view_close(&f);
	}
}

static void lock_wait(struct fixture *f, u32 tgid, u32 holder, u16 call, u64 ns)
{
	PUT(f, struct waits_lock, REC_WAITS_LOCK, .tgid = tgid, .space = 8, .holder = holder,
		.flags = WAITS_WRITE | WAITS_CALL_KNOWN | WAITS_HOLDER_KNOWN | WAITS_HOLDER_IN_CALL,
		.call = call, .holder_call = holder == 8 ? 11 : 0, .count = 100, .total_ns = ns);
}

static void test_lock_within(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_mmap_lock);
	lock_wait(&f, 8, 8, 9, 2 * NSEC_PER_SEC);
	lock_wait(&f, 8, 8, WAITS_NO_CALL, NSEC_PER_SEC);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_non_null(strstr(x->title, "Threads of reader (pid 8) wait for each other"));
	assert_true(says(x->evidence, "67 % of that time reader (pid 8) waited in mmap()"));
	assert_true(says(x->evidence, "33 % of that time reader (pid 8) waited in page faults"));
	assert_true(
		says(x->evidence, "100 % of that time reader (pid 8) held the lock in munmap()"));
	view_close(&f);
}

/* A little in all threads together slows nobody down. */
static void test_lock_levels(void **unused)
{
	static const struct {
		u64 ms;
		int level;
	} cases[] = {{400, LEVEL_NOTE}, {900, LEVEL_RISK}, {1600, LEVEL_WARNING},
		{21000, LEVEL_CRITICAL}};
	struct fixture f;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(&f, &rule_mmap_lock);
		lock_wait(&f, 8, 8, 9, cases[i].ms * NSEC_PER_MSEC);
		assert_int_equal(only(&f)->level, cases[i].level);
		view_close(&f);
	}
	begin(&f, &rule_mmap_lock);
	lock_wait(&f, 8, 8, 9, 200 * NSEC_PER_MSEC);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

/* Of what the same calls cost in faults, for the lock and by interrupts, the most comes first. */
static void test_lock_and_churn(void **unused)
{
	static const struct {
		u64 lock_s, faults_s, flush_s;
		const char *first;
	} cases[] = {{6, 2, 1, "mmap-lock"}, {2, 3, 1, "mmap-lock"}, {1, 3, 1, "touch-again"},
		{2, 3, 8, "tlb-shootdowns"}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		struct finding *x;

		begin(&f, &rule_mmap_lock);
		lock_wait(&f, 8, 8, 9, cases[i].lock_s * NSEC_PER_SEC);
		assert_int_equal(conclude(&f), 1);
		x = report_finding(&f.report, LEVEL_RISK, "touch-again");
		*x = (struct finding){.rule = "touch-again",
			.title = "churns",
			.tgid = 8,
			.folds = 1,
			.losses = LOSS_SPACE | LOSS_FLUSH,
			.cost_ns = cases[i].faults_s * NSEC_PER_SEC};
		x = report_finding(&f.report, LEVEL_NOTE, "tlb-shootdowns");
		*x = (struct finding){.rule = "tlb-shootdowns",
			.title = "interrupts",
			.tgid = 8,
			.folds = 2,
			.losses = LOSS_FLUSH,
			.cost_ns = cases[i].flush_s * NSEC_PER_SEC};
		report_explain(&f.report);
		assert_int_equal(f.report.findings.n, 1);
		assert_string_equal(f.report.findings.v[0].rule, cases[i].first);
		assert_int_equal(
			says(f.report.findings.v[0].evidence, "effect: interrupts"), i < 3);
		assert_int_equal(
			says(f.report.findings.v[0].evidence, "effect: Threads of reader"), i >= 2);
		view_close(&f);
	}
}

/* What holds the lock in a fork is no allocator's matter. */
static void test_lock_of_forks(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_mmap_lock);
	PUT(&f, struct waits_lock, REC_WAITS_LOCK, .tgid = 8, .space = 8, .holder = 8,
		.flags = WAITS_WRITE | WAITS_CALL_KNOWN | WAITS_HOLDER_KNOWN | WAITS_HOLDER_IN_CALL,
		.call = 9, .holder_call = 56, .count = 100, .total_ns = 2 * NSEC_PER_SEC);
	x = only(&f);
	assert_true(says(x->evidence, "held the lock in clone()"));
	assert_non_null(strstr(x->why, "A fork copies the page tables"));
	assert_true(says(x->try_, "posix_spawn()"));
	assert_false(says(x->try_, "GOGC"));
	view_close(&f);
}

static void test_lock_outside(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_mmap_lock);
	lock_wait(&f, 8, 7, 9, 3 * NSEC_PER_SEC);
	x = only(&f);
	assert_int_equal(x->tgid, 7);
	assert_non_null(strstr(x->title, "writer (pid 7) keeps threads of reader (pid 8) waiting"));
	assert_true(says(x->evidence, "writer (pid 7) held the lock in read()"));
	assert_true(says(x->try_, "Let writer (pid 7) poll less often"));
	view_close(&f);
	begin(&f, &rule_mmap_lock); /* nobody was seen to have it in half of the time */
	lock_wait(&f, 8, 7, 9, 3 * NSEC_PER_SEC);
	PUT(&f, struct waits_lock, REC_WAITS_LOCK, .tgid = 8, .space = 8,
		.flags = WAITS_WRITE | WAITS_CALL_KNOWN, .call = 9, .count = 100,
		.total_ns = 3300 * NSEC_PER_MSEC);
	assert_int_equal(only(&f)->tgid, 7);
	view_close(&f);
	begin(&f, &rule_mmap_lock); /* nearly all of the time: it is not known */
	lock_wait(&f, 8, 7, 9, 3 * NSEC_PER_SEC);
	PUT(&f, struct waits_lock, REC_WAITS_LOCK, .tgid = 8, .space = 8,
		.flags = WAITS_WRITE | WAITS_CALL_KNOWN, .call = 9, .count = 100,
		.total_ns = 20 * NSEC_PER_SEC);
	assert_int_equal(only(&f)->tgid, 8);
	view_close(&f);
	begin(&f, &rule_mmap_lock); /* another look, which ends */
	PUT(&f, struct rec_task, REC_TASK, .tgid = 9, .comm = "memwhy");
	lock_wait(&f, 8, 9, 9, 3 * NSEC_PER_SEC);
	assert_int_equal(only(&f)->level, LEVEL_NOTE);
	view_close(&f);
	begin(&f, &rule_mmap_lock);
	lock_wait(&f, 8, 8, 9, 100 * NSEC_PER_MSEC); /* 1 % */
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

static void value(struct fixture *f, const char *name, u64 v)
{
	struct system_value r = REC(struct system_value, REC_SYSTEM_VALUE, .value = v);

	snprintf(r.name, sizeof(r.name), "%s", name);
	view_feed(f, &r);
}

static void test_dirty(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_dirty_throttling);
	value(&f, "vm.dirty_bytes", 16 * MIB);
	value(&f, "vm.dirty_background_bytes", 8 * MIB);
	value(&f, "MemAvailable", 4096 * MIB);
	PUT(&f, struct waits_dirty, REC_WAITS_DIRTY, .tgid = 7, .count = 60,
		.total_ns = 3 * NSEC_PER_SEC, .dirtied_pages = 25600, .device = "vda");
	PUT(&f, struct waits_dirty, REC_WAITS_DIRTY, .tgid = 8, .count = 6,
		.total_ns = NSEC_PER_SEC, .dirtied_pages = 256, .device = "vda");
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_non_null(strstr(x->title, "writer (pid 7) writes faster than device vda absorbs "
					 "while vm.dirty_bytes allows only 16.0 MiB to be dirty"));
	assert_true(says(x->evidence, "75 % of it in writer (pid 7), which wrote 100 MiB"));
	assert_true(says(x->try_, "sysctl -w vm.dirty_bytes=805306368"));
	assert_true(says(x->undo, "sysctl -w vm.dirty_bytes=16777216"));
	view_close(&f);
}

static void cached(struct fixture *f, u32 tgid, u32 evictor, u16 flags, u64 pages)
{
	PUT(f, struct cache_agg, REC_CACHE_AGG, .tgid = tgid, .evictor = evictor, .flags = flags,
		.count = pages / CACHE_STRIDE,
		.total_ns = flags ? pages / CACHE_STRIDE * NSEC_PER_SEC : 0, .cgroup = 42);
}

/* So many file pages were read back in the ten seconds, and the cache was looked at all the time.
 */
static void refaulted(struct fixture *f, u64 pages)
{
	value(f, "workingset_refault_file", 5);
	value(f, "workingset_refault_file", 5 + pages);
	value(f, "Cached", 4096 * MIB);
	PUT(f, struct cache_sampled, REC_CACHE_SAMPLED, .bursts = 10, .on_ns = 10 * NSEC_PER_SEC,
		.covered_ns = 10 * NSEC_PER_SEC);
}

static void test_evictor(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_page_cache); /* the writer's reclaim took them */
	refaulted(&f, 64000);
	cached(&f, 7, 0, 0, 640000);
	cached(&f, 8, 0, 0, 6400);
	cached(&f, 8, 7, CACHE_REFAULT, 64000);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_int_equal(x->tgid, 7);
	assert_non_null(
		strstr(x->title, "writer (pid 7) reads 250 MiB a second and evicts the working set "
				 "of reader (pid 8) from the page cache: 6400 pages a second"));
	assert_true(says(x->evidence, "reader (pid 8) reads 27.5 MiB a second"));
	view_close(&f);

	begin(&f, &rule_page_cache); /* what it reads is little of what it writes */
	refaulted(&f, 64000);
	cached(&f, 7, 0, CACHE_WRITTEN, 640000);
	cached(&f, 7, 0, 0, 6400);
	cached(&f, 8, 0, 0, 6400);
	cached(&f, 8, 7, CACHE_REFAULT, 64000);
	x = only(&f);
	assert_non_null(strstr(x->title, "writer (pid 7) writes 252 MiB a second and evicts"));
	assert_true(
		says(x->evidence, "writer (pid 7) writes 252 MiB a second into the page cache"));
	assert_true(says(x->try_, "oflag=direct"));
	assert_false(says(x->try_, "iflag="));
	view_close(&f);

	begin(&f, &rule_page_cache); /* … or kswapd did, for him who reads most */
	refaulted(&f, 64000);
	cached(&f, 7, 0, 0, 640000);
	cached(&f, 8, 0, CACHE_REFAULT | CACHE_BY_KSWAPD, 64000);
	assert_int_equal(only(&f)->tgid, 7);
	view_close(&f);
}

static void by_hand_in(struct fixture *f, u32 evictor, u16 call, u64 pages, u32 seconds)
{
	begin(f, &rule_page_cache);
	refaulted(f, call == CACHE_CALL_FADVISE ? 0 : pages); /* that leaves the kernel no trace */
	cached(f, 8, 0, 0, 6400);
	for (u32 i = 0; i < seconds; i++)
		PUT_AT(f, struct cache_agg, REC_CACHE_AGG, 0, (i + 1) * NSEC_PER_SEC, .tgid = 8,
			.evictor = evictor, .call = call, .flags = CACHE_REFAULT,
			.count = pages / CACHE_STRIDE / seconds);
}

static void by_hand(struct fixture *f, u32 evictor, u16 call, u64 pages)
{
	by_hand_in(f, evictor, call, pages, 2);
}

/* Nobody needed room: the call tells who it was, and that the cache is not too small. */
static void test_by_hand(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	by_hand(&f, 8, CACHE_CALL_FADVISE, 64000);
	x = only(&f);
	assert_string_equal(x->title,
		"reader (pid 8) drops pages of its files from the page cache and reads them "
		"again, 6400 a second: by posix_fadvise (POSIX_FADV_DONTNEED)");
	assert_int_equal(x->level, LEVEL_WARNING);
	view_close(&f);

	by_hand(&f, 7, CACHE_CALL_PROCESS_MADVISE, 6400);
	x = only(&f);
	assert_non_null(
		strstr(x->title, "writer (pid 7) evicts file pages that reader (pid 8) reads"));
	assert_int_equal(x->level, LEVEL_RISK);
	view_close(&f);

	by_hand(&f, 7, CACHE_CALL_GROUP, 64000);
	assert_non_null(strstr(only(&f)->title, "a write to a file of a control group"));
	view_close(&f);

	by_hand(&f, 7, 1, 64000); /* write: it needs room for what it writes, whatever that is */
	assert_null(strstr(only(&f)->title, "control group"));
	view_close(&f);

	/* … and what went in its writes and in its reads is of one evictor. */
	by_hand(&f, 7, 1, 16000);
	value(&f, "workingset_refault_file", 64000);
	cached(&f, 7, 0, CACHE_WRITTEN, 640000);
	cached(&f, 8, 7, CACHE_REFAULT, 16000);
	cached(&f, 8, 9, CACHE_REFAULT, 32000);
	assert_non_null(strstr(only(&f)->title, "writer (pid 7) writes 250 MiB a second and"));
	view_close(&f);

	by_hand(&f, 8, CACHE_CALL_FADVISE, 640); /* too few to hurt */
	assert_int_equal(conclude(&f), 0);
	view_close(&f);

	by_hand_in(&f, 8, CACHE_CALL_FADVISE, 6400, 1); /* one file, once */
	assert_int_equal(conclude(&f), 0);
	view_close(&f);

	by_hand_in(&f, 8, CACHE_CALL_FADVISE, 64000, 1); /* much at once */
	assert_int_equal(only(&f)->level, LEVEL_WARNING);
	view_close(&f);
}

/* It hides no other trouble, and what it costs most comes first. */
static void test_by_hand_and_others(void **unused)
{
	struct fixture f;

	(void)unused;
	by_hand(&f, 8, CACHE_CALL_FADVISE, 6400);
	value(&f, "workingset_refault_file", 64000);
	cached(&f, 7, 0, 0, 640000);
	cached(&f, 9, 0, 0, 6400);
	cached(&f, 9, 7, CACHE_REFAULT, 64000);
	assert_int_equal(conclude(&f), 2);
	assert_non_null(strstr(f.report.findings.v[0].title, "POSIX_FADV_DONTNEED"));
	assert_non_null(strstr(f.report.findings.v[1].title, "evicts the working set of"));
	view_close(&f);

	by_hand(&f, 8, CACHE_CALL_FADVISE, 64000);
	value(&f, "workingset_refault_file", 640000);
	cached(&f, 9, 9, CACHE_REFAULT, 640000);
	assert_int_equal(conclude(&f), 2);
	assert_non_null(strstr(f.report.findings.v[1].title, "The page cache is too small for"));
	assert_int_equal(f.report.findings.v[1].tgid, 9);
	view_close(&f);

	by_hand(&f, 7, CACHE_CALL_GROUP, 64000);
	for (u32 n = 0; n < 5; n++)
		PUT(&f, struct cache_agg, REC_CACHE_AGG, .tgid = 10 + n, .evictor = 10 + n,
			.call = CACHE_CALL_FADVISE, .flags = CACHE_REFAULT, .count = 400 + n);
	assert_int_equal(conclude(&f), 4);
	assert_int_equal(f.report.findings.v[0].tgid, 7);
	for (u32 i = 1; i < 4; i++)
		assert_int_equal(f.report.findings.v[i].tgid, 15 - i);
	view_close(&f);
}

/* Both are new processes each time: one finding tells of their programs. */
static void test_by_hand_programs(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	by_hand(&f, 7, 0, 0);
	for (u32 tgid = 100; tgid < 104; tgid++) {
		PUT(&f, struct rec_task, REC_TASK, .tgid = tgid, .cgroup = 42, .comm = "job");
		PUT(&f, struct rec_task, REC_TASK, .tgid = tgid + 10, .cgroup = 42, .comm = "dd");
		PUT(&f, struct cache_agg, REC_CACHE_AGG, .tgid = tgid, .evictor = tgid + 10,
			.call = CACHE_CALL_FADVISE, .flags = CACHE_REFAULT, .cgroup = 42,
			.count = 50 + tgid - 100);
	}
	x = only(&f);
	assert_int_equal(x->tgid, 113);
	assert_non_null(strstr(x->title,
		"dd (4 processes, the last of them pid 113) evicts file pages "
		"that job (4 processes, the last of them pid 103) reads again, 1318 a second"));
	assert_true(says(x->try_, "--for 10s -c dd"));
	view_close(&f);
}

/* The reader past it is a new process each time: none of them is the one, its program is. */
static void test_evictor_program(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_page_cache);
	refaulted(&f, 64000);
	cached(&f, 8, 0, 0, 6400);
	for (u32 tgid = 100; tgid < 110; tgid++) {
		PUT(&f, struct rec_task, REC_TASK, .tgid = tgid, .cgroup = 42, .comm = "cat");
		cached(&f, tgid, 0, 0, 64000);
		cached(&f, 8, tgid, CACHE_REFAULT, 6400);
	}
	x = only(&f);
	assert_non_null(strstr(x->title, "cat (pid 10"));
	assert_non_null(strstr(x->title, "working set of reader (pid 8)"));
	view_close(&f);
}

/* Its own reading pushes out what it needs again. */
static void test_cache_too_small(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_page_cache);
	refaulted(&f, 640000);
	cached(&f, 8, 8, CACHE_REFAULT, 640000);
	cached(&f, 7, 0, 0, 6400);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_non_null(strstr(x->title, "The page cache is too small for what reader (pid 8)"));
	assert_int_equal(x->cost_ns, 0); /* not known */
	view_close(&f);

	begin(&f, &rule_page_cache); /* that is told by the rule on limits */
	refaulted(&f, 640000);
	cached(&f, 8, 8, CACHE_REFAULT, 640000);
	PUT(&f, struct cgroup_usage, REC_CGROUP_MEMORY, .cgroup = 42, .version = 2,
		.limit_bytes = CGROUP_USAGE_NONE, .high_bytes = 100 * MIB, .high_hit_total = 10);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);

	for (u64 part = 1; part <= 4; part *= 4) { /* pressure is of him who reads back most */
		begin(&f, &rule_page_cache);
		refaulted(&f, 640000 * part);
		cached(&f, 8, 8, CACHE_REFAULT, 640000);
		for (u64 us = 0; us <= 3000000; us += 3000000)
			PUT(&f, struct system_pressure, REC_SYSTEM_PRESSURE,
				.resource = SYSTEM_MEMORY, .some_total_us = 500 + us);
		x = only(&f);
		assert_int_equal(x->cost_ns, part == 1 ? 3 * NSEC_PER_SEC : 0);
		assert_true(says(x->evidence, "some task waited for memory for") == (part == 1));
		view_close(&f);
	}

	for (u64 swappiness = 0; swappiness <= 60; swappiness += 30) { /* a setting is why */
		begin(&f, &rule_page_cache);
		refaulted(&f, 640000);
		cached(&f, 8, 8, CACHE_REFAULT, 640000);
		value(&f, "vm.swappiness", swappiness);
		value(&f, "AnonPages", 6000 * MIB);
		value(&f, "Active(file)", 1024 * MIB);
		value(&f, "SwapFree", 2048 * MIB);
		x = only(&f);
		assert_int_equal(!!strstr(x->title, "as vm.swappiness 0 lets no anonymous memory "
						    "go to swap, which has room for 2.00 GiB"),
			!swappiness);
		assert_int_equal(says(x->try_, "sysctl -w vm.swappiness=60"), !swappiness);
		assert_int_equal(says(x->undo, "sysctl -w vm.swappiness=0"), !swappiness);
		view_close(&f);
	}

	begin(&f, &rule_page_cache); /* both read files over again: neither is a stream */
	refaulted(&f, 640000);
	cached(&f, 8, 7, CACHE_REFAULT, 320000);
	cached(&f, 7, 8, CACHE_REFAULT, 320000);
	assert_non_null(strstr(only(&f)->title, "The page cache is too small"));
	view_close(&f);
}

/* Workers of one program that read one set of files over again, one of them much faster: nobody
 * pushes past the others, all together read more than there is room for. */
static void test_cache_one_set(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	for (u64 again = 0; again < 2; again++) {
		begin(&f, &rule_page_cache);
		refaulted(&f, 640000);
		for (u32 tgid = 100; tgid < 104; tgid++) {
			PUT(&f, struct rec_task, REC_TASK, .tgid = tgid, .cgroup = 42,
				.comm = "search");
			/* more than the cache has */
			cached(&f, tgid, 0, 0, tgid == 100 ? 1280000 : 0);
			cached(&f, tgid, tgid == 100 ? 101 : 100, CACHE_REFAULT,
				tgid == 100 ? again * 960000 : 160000);
		}
		x = only(&f);
		if (again)
			assert_non_null(strstr(x->title,
				"The page cache is too small for what 4 processes of search (pid "
				"100 is one) read together, as one working set"));
		else /* it reads once, and the others pay */
			assert_non_null(strstr(x->title, "search (pid 100) reads 500 MiB a second "
							 "and evicts"));
		view_close(&f);
	}
}

/* Where hardly any page is read back nobody suffers, nor where it is not seen who does. */
static void test_cache_quiet(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, &rule_page_cache);
	refaulted(&f, 640);
	cached(&f, 7, 0, 0, 640000);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
	begin(&f, &rule_page_cache);
	refaulted(&f, 640000);
	cached(&f, 7, 0, 0, 640000);
	cached(&f, 8, 7, CACHE_REFAULT, 640);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

static void test_kswapd_busy(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_page_cache);
	refaulted(&f, 0);
	value(&f, "pgsteal_kswapd", 1);
	value(&f, "pgsteal_kswapd", 600001);
	cached(&f, 7, 0, 0, 640000);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_RISK);
	assert_non_null(strstr(x->title, "writer (pid 7) keeps kswapd busy"));
	view_close(&f);
}

static void major(struct fixture *f, u32 tgid)
{
	PUT(f, struct faults_agg, REC_FAULTS_AGG, .tgid = tgid, .flags = FAULT_MAJOR,
		.map = MAPPING_FILE, .count = 1000, .timed = 1000, .total_ns = 3 * NSEC_PER_SEC,
		.cgroup = 42, .file = "data");
}

/* What waits for the disk is a cause by itself only where it is read for the first time. */
static void test_cold_start(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_major_faults);
	refaulted(&f, 10);
	major(&f, 8);
	x = only(&f);
	assert_false(x->symptom);
	assert_true(says(x->evidence, "a cold start"));
	view_close(&f);

	begin(&f, &rule_major_faults);
	refaulted(&f, 64000);
	major(&f, 8);
	x = only(&f);
	assert_true(x->symptom);
	assert_int_equal(x->losses, LOSS_REFAULT);
	assert_false(says(x->evidence, "a cold start"));
	view_close(&f);

	/* What was dropped looks as if it were read for the first time. */
	for (u64 drops = 1; drops <= 2; drops++) {
		begin(&f, &rule_major_faults);
		value(&f, "drop_pagecache", 5);
		value(&f, "drop_pagecache", 5 + drops);
		refaulted(&f, 10);
		major(&f, 8);
		x = only(&f);
		assert_int_equal(x->symptom, drops == 2);
		assert_int_equal(x->losses, drops == 2 ? LOSS_DROPPED : 0);
		assert_int_equal(x->level, drops == 2 ? LEVEL_WARNING : LEVEL_NOTE);
		view_close(&f);
	}

	/* The kernel counts pages as read back that went long before: nothing goes now. */
	for (u64 pages = 400; pages <= 600; pages += 200) {
		begin(&f, &rule_major_faults);
		refaulted(&f, 64000);
		value(&f, "pgsteal_file", 7);
		value(&f, "pgsteal_file", 7 + pages);
		major(&f, 8);
		x = only(&f);
		assert_int_equal(x->symptom, pages == 600);
		assert_int_equal(says(x->evidence, "read back once (a cold start)"), pages == 400);
		view_close(&f);
	}
}

/* Each is short, and one of many of its program in its group: they are one finding. */
static void test_cold_program(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_major_faults);
	refaulted(&f, 10);
	for (u32 tgid = 100; tgid < 103; tgid++) {
		PUT(&f, struct rec_task, REC_TASK, .tgid = tgid, .cgroup = 42, .comm = "job");
		major(&f, tgid);
	}
	PUT(&f, struct rec_task, REC_TASK, .tgid = 103, .cgroup = 42, .comm = "job");
	PUT(&f, struct faults_agg, REC_FAULTS_AGG, .tgid = 103, .flags = FAULT_MAJOR, .count = 9,
		.timed = 9, .total_ns = NSEC_PER_SEC, .cgroup = 42); /* as many at any start */
	x = only(&f);
	assert_non_null(strstr(x->title, "job (3 processes, the last of them pid 102) waited "
					 "9.00 s for page reads"));
	assert_true(says(x->evidence, "3000 major faults"));
	assert_true(says(x->verify, "-c job"));
	view_close(&f);
}

struct growing {
	u64 start_ns;
	u64 step, cgroup;
	u64 first; /* half seconds before it is there */
	bool bumpy;
};

/* A process that grows by `step` each half second of the ten. */
static void grows(struct fixture *f, u32 tgid, const struct growing *g)
{
	for (u64 i = g->first; i <= 20; i++)
		PUT_AT(f, struct process_memory, REC_PROCESS_MEMORY, 0, HALF_SECOND(i),
			.tgid = tgid, .start_ns = g->start_ns, .cgroup = g->cgroup,
			.anon_bytes = 10 * MIB + (g->bumpy && i > 9 ? i / 3 : i) * g->step,
			.comm = "writer");
}

static int growth_level(const struct growing *g, u64 available)
{
	struct fixture f;
	size_t n;
	int level;

	begin(&f, &rule_growth);
	value(&f, "MemAvailable", available);
	grows(&f, 7, g);
	n = conclude(&f);
	level = n ? f.report.findings.v[0].level : -1;
	assert_true(n <= 1);
	view_close(&f);
	return level;
}

/* By when it hurts, how large it is against the room there is, and whether it may be a start. */
static void test_growth_levels(void **unused)
{
	const u64 gib = 1024 * MIB;

	(void)unused;
	/* Two a second: 1024 s to the end of 2 GiB, half a day to that of 100. */
	assert_int_equal(growth_level(&(struct growing){.step = MIB}, 2 * gib), LEVEL_RISK);
	assert_int_equal(growth_level(&(struct growing){.step = MIB}, 100 * gib), LEVEL_NOTE);
	assert_int_equal(growth_level(&(struct growing){.step = 4 * MIB}, 2 * gib), LEVEL_WARNING);
	/* It began within the look: it may be a compiler, a sort, a start; what grew for eight
	 * seconds in a straight line is told. */
	assert_int_equal(
		growth_level(&(struct growing){.start_ns = NSEC_PER_SEC, .step = 4 * MIB}, 2 * gib),
		LEVEL_NOTE);
	assert_int_equal(
		growth_level(
			&(struct growing){.start_ns = NSEC_PER_SEC, .step = 4 * MIB, .first = 6},
			2 * gib),
		-1);
	assert_int_equal(
		growth_level(
			&(struct growing){.start_ns = NSEC_PER_SEC, .step = 4 * MIB, .bumpy = true},
			2 * gib),
		-1);
	assert_int_equal(growth_level(&(struct growing){.start_ns = NSEC_PER_SEC, .step = 40 * MIB},
				 2 * gib),
		LEVEL_RISK);
}

/* In its first minute growth may be a start; from half a minute on it is none if it goes like a
 * clock through the whole look. */
static void test_growth_steady_young(void **unused)
{
	static const struct {
		u64 age, first;
		bool bumpy;
		int level;
	} cases[] = {{25, 0, false, LEVEL_NOTE}, {35, 0, false, LEVEL_RISK},
		{35, 0, true, LEVEL_NOTE}, {35, 8, false, LEVEL_NOTE}};
	const u64 end = 100 * NSEC_PER_SEC;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *x;
		struct fixture f;

		begin(&f, &rule_growth);
		f.stream.first_ns = end - 10 * NSEC_PER_SEC;
		value(&f, "MemAvailable", 2048 * MIB);
		for (u64 k = cases[i].first; k <= 20; k++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0,
				end - 10 * NSEC_PER_SEC + HALF_SECOND(k), .tgid = 7,
				.start_ns = end - cases[i].age * NSEC_PER_SEC,
				.anon_bytes = (10 + k + (cases[i].bumpy ? k * 5 % 4 : 0)) * MIB,
				.comm = "writer");
		x = only(&f);
		assert_int_equal(x->level, cases[i].level);
		/* What is no start ranks by what it will have. */
		assert_int_equal(x->held_bytes > 1000 * MIB, cases[i].level > LEVEL_NOTE);
		view_close(&f);
	}
}

/* What has grown like a clock since it was started, long ago, will go on for long: it need not be
 * quick to be a risk. Not what had most of it at once. */
static void test_growth_lifelong(void **unused)
{
	static const struct {
		u64 age, had;
		int level;
	} cases[] = {{600, 1200, LEVEL_RISK}, {600, 100, LEVEL_NOTE}, {600, 3000, LEVEL_NOTE},
		{90, 180, LEVEL_NOTE}};
	const u64 end = 1000 * NSEC_PER_SEC;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *x;
		struct fixture f;

		begin(&f, &rule_growth);
		f.stream.first_ns = end - 10 * NSEC_PER_SEC;
		value(&f, "MemAvailable", 24576 * MIB); /* for 12,288 s */
		for (u64 k = 0; k <= 20; k++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0,
				end - 10 * NSEC_PER_SEC + HALF_SECOND(k), .tgid = 7,
				.start_ns = end - cases[i].age * NSEC_PER_SEC,
				.anon_bytes = (cases[i].had - 20 + k) * MIB, .comm = "writer");
		x = only(&f);
		assert_int_equal(x->level, cases[i].level);
		assert_int_equal(says(x->evidence, "since it started, 10 minutes before"),
			x->level > LEVEL_NOTE);
		view_close(&f);
	}
}

/* What its group may have counts, not what the machine has; page cache of the group makes room. */
/* What is left between its ups and downs is what counts, where that is known. */
static void test_growth_beneath(void **unused)
{
	for (u64 leak = 0; leak < 2; leak++) {
		struct fixture f;

		begin(&f, &rule_growth);
		value(&f, "MemAvailable", 1024 * MIB);
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0, HALF_SECOND(i),
				.tgid = 7, .anon_bytes = (10 + i * 7 % 40) * MIB,
				.low_anon_bytes = (5 + i % 2 * 4) * MIB + i * leak * MIB / 2,
				.comm = "writer");
		assert_int_equal(conclude(&f), leak);
		if (leak)
			assert_non_null(strstr(f.report.findings.v[0].title, "grow"));
		view_close(&f);
	}
	(void)unused;
}

static void test_growth_in_group(void **unused)
{
	struct {
		struct rec h;
		u64 id;
		u32 length, reserved;
		char path[8];
	} group = {.h = {sizeof(group), REC_CGROUP, 0, 0}, .id = 42, .length = 3, .path = "/db"};
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_growth);
	view_feed(&f, &group);
	value(&f, "MemAvailable", 100 * 1024 * MIB);
	PUT_AT(&f, struct cgroup_usage, REC_CGROUP_MEMORY, CGROUP_HAS_PARTS, 0, .cgroup = 42,
		.limit_bytes = 512 * MIB, .usage_bytes = 500 * MIB, .file_bytes = 300 * MIB);
	grows(&f, 7, &(struct growing){.step = MIB, .cgroup = 42});
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_true(says(x->evidence, "room below the limit of its cgroup (312 MiB)"));
	view_close(&f);
}

/* A young one that grows like a clock and has filled its group in minutes is no mere note; of the
 * machine, or if it began within the look, it is. */
static void test_growth_young_in_group(void **unused)
{
	struct {
		struct rec h;
		u64 id;
		u32 length, reserved;
		char path[8];
	} group = {.h = {sizeof(group), REC_CGROUP, 0, 0}, .id = 42, .length = 3, .path = "/db"};
	struct fixture f;

	(void)unused;
	for (int newer = 0; newer < 2; newer++) {
		begin(&f, &rule_growth);
		view_feed(&f, &group);
		value(&f, "MemAvailable", 100 * 1024 * MIB);
		PUT_AT(&f, struct cgroup_usage, REC_CGROUP_MEMORY, CGROUP_HAS_PARTS, 0,
			.cgroup = 42, .limit_bytes = 512 * MIB, .usage_bytes = 300 * MIB);
		/* The look begins a second in. */
		f.stream.first_ns = 20 * NSEC_PER_SEC;
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0,
				20 * NSEC_PER_SEC + HALF_SECOND(i), .tgid = 7,
				.start_ns = 20 * NSEC_PER_SEC - !newer, .cgroup = 42,
				.anon_bytes = 10 * MIB + i * MIB, .comm = "writer");
		assert_int_equal(only(&f)->level, newer ? LEVEL_NOTE : LEVEL_RISK);
		view_close(&f);
	}
}

static void family(struct fixture *f, u64 i, u32 processes, u64 anon)
{
	PUT_AT(f, struct process_family, REC_PROCESS_FAMILY, 0, HALF_SECOND(i), .leader = 7,
		.biggest = 8, .processes = processes, .first_processes = 8, .anon_bytes = anon,
		.first_anon_bytes = 100 * MIB, .first_ns = NSEC_PER_SEC / 2, .comm = "writer");
}

/* What several grow by together fills the group that all of them are in. */
static void test_growth_together_in_group(void **unused)
{
	struct {
		struct rec h;
		u64 id;
		u32 length, reserved;
		char path[8];
	} group = {.h = {sizeof(group), REC_CGROUP, 0, 0}, .id = 42, .length = 3, .path = "/db"};

	(void)unused;
	/* One of them is in another group; all the others are children of the first. */
	for (u32 apart = 0, below = 7; apart < 2; apart += below == 8, below ^= 7 ^ 8) {
		const struct finding *x;
		struct fixture f;

		begin(&f, &rule_growth);
		view_feed(&f, &group);
		value(&f, "MemAvailable", 100 * 1024 * MIB);
		PUT_AT(&f, struct cgroup_usage, REC_CGROUP_MEMORY, CGROUP_HAS_PARTS, 0,
			.cgroup = 42, .limit_bytes = 512 * MIB, .usage_bytes = 400 * MIB);
		for (u64 i = 0; i <= 20; i++) {
			for (u32 k = 0; k < 8; k++)
				PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0,
					HALF_SECOND(i), .tgid = 8 + k, .ppid = k ? below : 7,
					.comm = "writer", .cgroup = 42 + (k ? 0 : apart),
					.anon_bytes = 10 * MIB + i * 128 * 1024);
			family(&f, i, 8, (100 + i) * MIB);
		}
		x = only(&f);
		assert_int_equal(x->level, apart ? LEVEL_NOTE : LEVEL_WARNING);
		assert_int_equal(says(x->evidence, "limit of its cgroup (112 MiB) lasts"), !apart);
		assert_int_equal(x->home, apart ? 0 : 42);
		view_close(&f);
	}
}

/* A heap of a fixed size, or a guest, fills what it had mapped: it ends there. */
static void test_growth_bounded(void **unused)
{
	for (u64 vm = 700; vm <= 7000; vm *= 10) {
		const struct finding *x;
		struct fixture f;

		(void)unused;
		begin(&f, &rule_growth);
		value(&f, "MemAvailable", 1024 * MIB);
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0, HALF_SECOND(i),
				.tgid = 7, .anon_bytes = 10 * MIB + i * 4 * MIB,
				.vm_bytes = vm * MIB, .comm = "writer");
		x = only(&f);
		assert_int_equal(x->level, vm == 700 ? LEVEL_NOTE : LEVEL_WARNING);
		assert_int_equal(says(x->evidence, "at most 610 MiB more"), vm == 700);
		view_close(&f);
	}
}

/* What an allocator has mapped ahead is full in a moment: no bound. */
static void test_growth_mapped_ahead(void **unused)
{
	(void)unused;
	for (u64 ahead = 80; ahead <= 800; ahead += 720) {
		const struct finding *x;
		struct fixture f;

		begin(&f, &rule_growth);
		value(&f, "MemAvailable", 8192 * MIB);
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0, HALF_SECOND(i),
				.tgid = 7, .anon_bytes = 700 * MIB + i * 4 * MIB,
				.vm_bytes = (780 + ahead) * MIB, .comm = "writer");
		x = only(&f);
		assert_int_equal(x->level, ahead == 80 ? LEVEL_RISK : LEVEL_NOTE);
		assert_int_equal(says(x->evidence, "mapped before"), ahead == 800);
		view_close(&f);
	}
}

/* A stack that gets deeper is no heap; a process without its first thread shows nowhere else. */
static void test_growth_stack(void **unused)
{
	(void)unused;
	for (int stack = 0; stack < 2; stack++) {
		const struct finding *x;
		struct fixture f;

		begin(&f, &rule_growth);
		value(&f, "MemAvailable", 8192 * MIB);
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY,
				PROCESS_EXACT | (stack ? 0 : PROCESS_HEADLESS), HALF_SECOND(i),
				.tgid = 7, .anon_bytes = 700 * MIB + i * 4 * MIB,
				.stack_bytes = stack ? 690 * MIB + i * 4 * MIB : 132 << 10,
				.comm = "writer");
		x = only(&f);
		assert_int_equal(
			!!strstr(x->title, "The stack of writer (pid 7) grows steadily: 8.00 MiB"),
			stack);
		assert_int_equal(says(x->evidence, "VmStk) rose by 80.0 MiB, to 770 MiB"), stack);
		assert_int_equal(says(x->try_, "ulimit -s"), stack);
		assert_false(says(x->try_, "memwhy leak"));
		assert_int_equal(says(x->try_, "memwhy faults"), !stack);
		assert_int_equal(
			!!strstr(x->title, "(pid 7), whose first thread has ended, grows"), !stack);
		view_close(&f);
	}
}

/* Each of the workers grows too little to be told; all of them together do. */
static void test_growth_together(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_growth);
	value(&f, "MemAvailable", 1024 * MIB);
	for (u64 i = 0; i <= 20; i++)
		family(&f, i, 8, (100 + i) * MIB);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_int_equal(x->tgid, 7);
	assert_non_null(
		strstr(x->title, "8 processes of reader (below writer (pid 7)) grow together"));
	assert_true(says(x->try_, "memwhy leak -p 8 --for 60s"));
	view_close(&f);

	for (int old = 0; old < 2; old++) { /* new ones of a program that is old, or begins */
		begin(&f, &rule_growth);
		value(&f, "MemAvailable", 1024 * MIB);
		f.stream.first_ns = 70 * NSEC_PER_SEC;
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_family, REC_PROCESS_FAMILY, 0,
				70 * NSEC_PER_SEC + HALF_SECOND(i), .leader = 7, .biggest = 8,
				.processes = 40 + (u32)i, .first_processes = 40,
				.anon_bytes = (400 + 10 * i) * MIB, .first_anon_bytes = 400 * MIB,
				.first_ns = 70 * NSEC_PER_SEC,
				.oldest_ns = old ? 1 : 60 * NSEC_PER_SEC, .comm = "writer");
		x = only(&f);
		assert_int_equal(x->level, old ? LEVEL_WARNING : LEVEL_NOTE);
		assert_non_null(strstr(x->title, "60 processes of reader (below writer (pid 7)), "
						 "ever more (40 at first)"));
		view_close(&f);
	}

	begin(&f, &rule_growth); /* a pool that fills and stops */
	value(&f, "MemAvailable", 1024 * MIB);
	for (u64 i = 0; i <= 20; i++)
		family(&f, i, 8, (100 + MIN(i, 10ULL)) * MIB);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

/* One of them was killed meanwhile, and their sum fell: those that each go on growing are told
 * together, not one by one. */
static void test_growth_of_survivors(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_growth);
	value(&f, "MemAvailable", 1024 * MIB);
	for (u64 i = 0; i <= 20; i++) {
		family(&f, i, i < 10 ? 4 : 3, (i < 10 ? 300 : 30) * MIB + 3 * i * MIB);
		for (u32 tgid = 8; tgid < 11; tgid++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0, HALF_SECOND(i),
				.tgid = tgid, .ppid = 7, .anon_bytes = (10 + i) * MIB,
				.comm = "writer");
	}
	x = only(&f);
	assert_non_null(strstr(x->title, "3 processes of reader (below writer (pid 7)) grow "
					 "together: 6.00 MiB"));
	assert_true(says(x->evidence, "from 30.0 MiB to 90.0 MiB in 10 s"));
	assert_true(says(x->evidence, "(1.00 GiB) lasts 3 minutes"));
	view_close(&f);
}

/* What comes back from swap is no growth, also where it is seen late that some is there. */
static void test_swap_is_no_growth(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, &rule_growth);
	for (u64 i = 0; i <= 20; i++)
		PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, i > 1 ? PROCESS_EXACT : 0,
			HALF_SECOND(i), .tgid = 7, .anon_bytes = 10 * MIB + i * MIB,
			.swap_bytes = i > 1 ? 90 * MIB - i * MIB : 0, .comm = "writer");
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

/* What only seems to rise beneath its ups and downs is told by its lower edge; where its group is
 * full, its ups and downs are of pages that are pushed out and come back. */
static void test_drift_in_group(void **unused)
{
	(void)unused;
	for (u64 left = 0; left <= 300; left += 300) {
		struct {
			struct rec h;
			u64 id;
			u32 length, reserved;
			char path[8];
		} group = {.h = {sizeof(group), REC_CGROUP, 0, 0},
			.id = 42,
			.length = 3,
			.path = "/db"};
		const struct finding *x;
		struct fixture f;

		begin(&f, &rule_growth);
		view_feed(&f, &group);
		value(&f, "MemAvailable", 100 * 1024 * MIB);
		PUT_AT(&f, struct cgroup_usage, REC_CGROUP_MEMORY, CGROUP_HAS_PARTS, 0,
			.cgroup = 42, .limit_bytes = 512 * MIB, .usage_bytes = (512 - left) * MIB);
		for (u64 i = 0; i <= 24; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0, HALF_SECOND(i),
				.tgid = 7, .cgroup = 42, .comm = "writer",
				.anon_bytes =
					(100 + 2 * i + (i % 5 == 2 ? 0 : 20 + i * 37 % 60)) * MIB);
		assert_int_equal(conclude(&f), left ? 1 : 0);
		x = left ? &f.report.findings.v[0] : NULL;
		assert_true(!x || says(x->evidence, "its lower edge rose by "));
		view_close(&f);
	}
}

/* Mapped and not touched: told apart from memory that is used. */
static void test_address_space(void **unused)
{
	struct fixture f;

	(void)unused;
	for (u64 part = 2; part <= 32; part *= 16) {
		begin(&f, &rule_growth);
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0, HALF_SECOND(i),
				.tgid = 7, .anon_bytes = 10 * MIB + i * 64 * MIB / part,
				.vm_bytes = 100 * MIB + i * 64 * MIB, .comm = "writer");
		conclude(&f);
		assert_int_equal(f.report.findings.n, 1 + (part == 32));
		assert_string_equal(f.report.findings.v[f.report.findings.n - 1].rule,
			part == 32 ? "address-space" : "growth");
		view_close(&f);
	}
	/* It maps what it will use as it starts; half a minute later it does no more. */
	for (u64 half = 0; half <= 50; half += 50) {
		begin(&f, &rule_growth);
		for (u64 i = 0; i <= 20; i++)
			PUT_AT(&f, struct process_memory, REC_PROCESS_MEMORY, 0,
				HALF_SECOND(half + i), .tgid = 7, .start_ns = HALF_SECOND(0),
				.anon_bytes = 10 * MIB, .vm_bytes = 100 * MIB + i * 1024 * MIB,
				.comm = "writer");
		assert_int_equal(only(&f)->level, half ? LEVEL_RISK : LEVEL_NOTE);
		view_close(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_of_parent),
		cmocka_unit_test(test_copies_at_a_start),
		cmocka_unit_test(test_copies_of_workers),
		cmocka_unit_test(test_copies_of_shells),
		cmocka_unit_test(test_fork_cost),
		cmocka_unit_test(test_collector),
		cmocka_unit_test(test_collector_swaps),
		cmocka_unit_test(test_copies_of_a_saver),
		cmocka_unit_test(test_copies_taken_back),
		cmocka_unit_test(test_growth_beneath),
		cmocka_unit_test(test_touched_again),
		cmocka_unit_test(test_touched_again_young),
		cmocka_unit_test(test_touched_shared),
		cmocka_unit_test(test_touched_again_small),
		cmocka_unit_test(test_touched_once),
		cmocka_unit_test(test_lock_within),
		cmocka_unit_test(test_lock_levels),
		cmocka_unit_test(test_lock_and_churn),
		cmocka_unit_test(test_lock_of_forks),
		cmocka_unit_test(test_lock_outside),
		cmocka_unit_test(test_dirty),
		cmocka_unit_test(test_evictor),
		cmocka_unit_test(test_evictor_program),
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_by_hand_and_others),
		cmocka_unit_test(test_by_hand_programs),
		cmocka_unit_test(test_cache_too_small),
		cmocka_unit_test(test_cache_one_set),
		cmocka_unit_test(test_cache_quiet),
		cmocka_unit_test(test_kswapd_busy),
		cmocka_unit_test(test_cold_start),
		cmocka_unit_test(test_cold_program),
		cmocka_unit_test(test_growth_levels),
		cmocka_unit_test(test_growth_steady_young),
		cmocka_unit_test(test_growth_lifelong),
		cmocka_unit_test(test_growth_in_group),
		cmocka_unit_test(test_growth_young_in_group),
		cmocka_unit_test(test_growth_bounded),
		cmocka_unit_test(test_growth_mapped_ahead),
		cmocka_unit_test(test_growth_stack),
		cmocka_unit_test(test_growth_together),
		cmocka_unit_test(test_growth_of_survivors),
		cmocka_unit_test(test_growth_together_in_group),
		cmocka_unit_test(test_swap_is_no_growth),
		cmocka_unit_test(test_drift_in_group),
		cmocka_unit_test(test_address_space),
	};

	return cmocka_run_group_tests_name("rules_causes", tests, NULL, NULL);
}
