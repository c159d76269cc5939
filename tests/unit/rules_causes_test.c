/* Rules of check on fault storms, waits, the page cache and growth: on made-up records each speaks
 * when it should, names who did it, and stays silent else. */
#include "view_fixture.h"

#include "base/clock.h"
#include "probes/faults/faults.h"
#include "probes/mmcalls/mmcalls.h"
#include "probes/processes/processes.h"
#include "probes/system/system.h"
#include "probes/waits/waits.h"
#include "rules/rules.h"

#define MIB (1ULL << 20)

#define PUT(f_, type_, kind_, ...)                         \
	({                                                 \
		type_ r_ = REC(type_, kind_, __VA_ARGS__); \
		view_feed((f_), &r_);                      \
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
	faults(&f, 7, TOUCHED, 200000, 2 * NSEC_PER_SEC);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

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
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_non_null(strstr(x->title,
		"writer (pid 7) gives memory back by madvise(MADV_DONTNEED) and touches it again"));
	assert_true(says(x->evidence, "120 times a second, for 3.75 GiB"));
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
		says(x->evidence, "100 % of that time reader (pid 8) had the lock in munmap()"));
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
	assert_true(says(x->evidence, "writer (pid 7) had the lock in read()"));
	assert_true(says(x->try_, "Have writer (pid 7) look less often"));
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
	assert_non_null(strstr(x->title, "writer (pid 7) writes faster than device vda takes it"));
	assert_true(says(x->evidence, "75 % of it are writer (pid 7)'s, who wrote 100 MiB"));
	assert_true(says(x->try_, "sysctl -w vm.dirty_bytes=858993459"));
	assert_true(says(x->undo, "sysctl -w vm.dirty_bytes=16777216"));
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_of_parent),
		cmocka_unit_test(test_copies_of_workers),
		cmocka_unit_test(test_copies_of_shells),
		cmocka_unit_test(test_touched_again),
		cmocka_unit_test(test_touched_once),
		cmocka_unit_test(test_lock_within),
		cmocka_unit_test(test_lock_outside),
		cmocka_unit_test(test_dirty),
	};

	return cmocka_run_group_tests_name("rules_causes", tests, NULL, NULL);
}
