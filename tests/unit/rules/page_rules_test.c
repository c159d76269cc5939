/* The rules on zone->lock and on the lists of CPUs: they speak when they should, and not else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/pages/pages.h"
#include "rules/facts.h"
#include "rules/rules.h"
#include "view_fixture.h"

#define FEED(f_, type_, kind_, ...)                                                             \
	({                                                                                      \
		type_ r_ = {                                                                    \
			.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = NSEC_PER_SEC}, \
			__VA_ARGS__};                                                           \
		view_feed((f_), &r_);                                                           \
	})

static void begin(struct fixture *f, const struct view *rule)
{
	view_open(f, rule, &(struct view_options){}, "check");
	FEED(f, struct rec_host, REC_HOST, .cpus = 4, .nodes = 1, .page_bytes = 4096,
		.memory_bytes = 8ULL << 30);
	FEED(f, struct rec_session, REC_SESSION, .command = "check");
	FEED(f, struct rec_task, REC_TASK, .tgid = 7, .comm = "reader");
	FEED(f, struct rec_task, REC_TASK, .tgid = 8, .comm = "writer");
	FEED(f, struct pages_lists, REC_PAGES_LISTS, .flags = PAGES_HIGH_FRACTION | PAGES_LIMITS,
		.lists = 8, .high_pages = 8192);
}

/* Ten bursts of 50 ms. */
static void sampled(struct fixture *f)
{
	for (int i = 0; i < 10; i++)
		FEED(f, struct pages_sampled, REC_PAGES_SAMPLED, .bursts = 1,
			.on_ns = 50 * NSEC_PER_MSEC, .covered_ns = NSEC_PER_SEC);
}

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

static void knows_waits(struct fixture *f)
{
	FEED(f, struct rec_method, REC_METHOD, .probe = "pages", .data = PAGES_WAITS,
		.method = "raw tracepoints");
}

/* Half a second: `locks` refills of 63 pages, for that many pages that reader took. */
static void storm(struct fixture *f, u64 locks, u64 waits, u64 wait_ns)
{
	sampled(f);
	FEED(f, struct pages_pcp, REC_PAGES_PCP, .cpu = 1, .refill_runs = locks,
		.refill_pages = 63 * locks, .allocations = 63 * locks, .waits = waits,
		.wait_ns = wait_ns);
	FEED(f, struct pages_alloc, REC_PAGES_ALLOC, .who.tgid = 7, .count = 63 * locks,
		.refilled = locks, .refill_pages = 63 * locks);
}

static void test_lock_waits(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_zone_lock);
	knows_waits(&f);
	/* 200 ms of the 2 s that 4 CPUs have in half a second */
	storm(&f, 5000, 4000, 200 * NSEC_PER_MSEC);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_WARNING);
	assert_string_equal(x->title, "CPUs wait for the lock of a zone: 10.0 % of their time");
	assert_true(x->cost_ns > 3900 * NSEC_PER_MSEC && x->cost_ns < 4100 * NSEC_PER_MSEC);
	assert_true(says(x->evidence, "a second: 10000 refills of 63 pages and 0 drains"));
	assert_true(says(x->evidence, "1.6 % of 630000 allocations a second took the lock"));
	assert_true(says(x->evidence, "waited for it 8000 times a second, 50.0 us each"));
	assert_true(says(x->evidence, "most of it for reader (pid 7): 100 %"));
	assert_true(says(x->evidence, "sampled: counted in 10 bursts, 500 ms in all"));
	/* 2 Mi pages of memory over four times 8192 */
	assert_true(says(x->try_, "`sysctl -w vm.percpu_pagelist_high_fraction=64`"));
	assert_true(says(x->undo, "`sysctl -w vm.percpu_pagelist_high_fraction=0`"));
	view_close(&f);
}

/* How often it is taken alone is a note, and says what is not known. */
static void test_lock_taken(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_zone_lock);
	storm(&f, 30000, 0, 0);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_NOTE);
	assert_string_equal(x->title, "The locks of zones are taken 60000 times a second");
	assert_non_null(strstr(x->confidence, "not known here"));
	assert_int_equal(x->cost_ns, 0);
	view_close(&f);

	begin(&f, &rule_zone_lock);
	knows_waits(&f);
	storm(&f, 30000, 0, 0);
	assert_non_null(strstr(only(&f)->confidence, "no CPU was seen waiting"));
	view_close(&f);
}

/* Blocks that go past the lists: larger lists would not help. */
static void test_lock_direct(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_zone_lock);
	sampled(&f);
	FEED(&f, struct pages_pcp, REC_PAGES_PCP, .cpu = 0, .direct = 8000, .allocations = 10000);
	FEED(&f, struct pages_alloc, REC_PAGES_ALLOC, .who = {.tgid = 7, .order = 4},
		.count = 10000, .direct = 8000);
	x = only(&f);
	assert_true(says(x->evidence, "80.0 % of 20000 allocations a second took the lock"));
	assert_true(says(x->try_, "`memwhy pages --by process,order"));
	assert_false(says(x->try_, "sysctl"));
	assert_true(says(x->undo, "Nothing to undo."));
	view_close(&f);
}

static void test_lock_quiet(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, &rule_zone_lock); /* a storm that the lists serve well */
	storm(&f, 5000, 0, 0);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
	begin(&f, &rule_zone_lock); /* few waits */
	knows_waits(&f);
	storm(&f, 5000, 99, 200 * NSEC_PER_MSEC);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
	begin(&f, &rule_zone_lock); /* too little seen */
	sampled(&f);
	FEED(&f, struct pages_pcp, REC_PAGES_PCP, .cpu = 0, .direct = 1500, .allocations = 1500);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

/* Writer frees on CPU 3 what reader allocates on CPU 1. */
static void travel(struct fixture *f, u64 pages, u64 stay, u64 runs)
{
	FEED(f, struct pages_pcp, REC_PAGES_PCP, .cpu = 1, .refill_runs = runs,
		.refill_pages = pages, .allocations = pages);
	FEED(f, struct pages_pcp, REC_PAGES_PCP, .cpu = 3, .drain_runs = runs, .drain_pages = pages,
		.frees = pages);
	FEED(f, struct pages_alloc, REC_PAGES_ALLOC, .who.tgid = 7, .count = pages);
	FEED(f, struct pages_free, REC_PAGES_FREE, .who.tgid = 8, .count = pages);
	FEED(f, struct pages_imbalance, REC_PAGES_IMBALANCE, .from = 3, .to = 1, .pages = pages);
	FEED(f, struct pages_imbalance, REC_PAGES_IMBALANCE, .from = 2, .to = 2, .pages = stay);
}

static void test_imbalance(void **unused)
{
	const struct finding *x;
	struct fixture f;

	(void)unused;
	begin(&f, &rule_pcp_imbalance);
	sampled(&f);
	travel(&f, 20000, 20000, 300);
	x = only(&f);
	assert_int_equal(x->level, LEVEL_NOTE);
	assert_string_equal(x->title,
		"Pages are freed on one CPU and allocated on another: 40000 a second, most from "
		"CPU 3 to CPU 1");
	assert_true(says(x->evidence, "50 % of the pages that came back from the zone"));
	assert_true(says(x->evidence, "CPU 3 freed 40000 pages a second more than it allocated"));
	assert_true(says(x->evidence, "reader (pid 7) allocates the most pages, writer (pid 8)"));
	assert_true(says(x->undo, "`sysctl -w vm.percpu_pagelist_high_fraction=0`"));
	view_close(&f);

	begin(&f, &rule_pcp_imbalance); /* a whole recording of `pages`: ten seconds, no bursts */
	travel(&f, 2000000, 0, 30000);
	assert_int_equal(only(&f)->level, LEVEL_NOTE); /* what it costs is not known */
	view_close(&f);
}

static void test_imbalance_quiet(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, &rule_pcp_imbalance); /* most come back where they were */
	sampled(&f);
	travel(&f, 20000, 70000, 300);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
	begin(&f, &rule_pcp_imbalance); /* few */
	sampled(&f);
	travel(&f, 2400, 0, 30);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
	begin(&f, &rule_pcp_imbalance); /* one large refill is no rate */
	sampled(&f);
	travel(&f, 20000, 0, 3);
	assert_int_equal(conclude(&f), 0);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lock_waits),
		cmocka_unit_test(test_lock_taken),
		cmocka_unit_test(test_lock_direct),
		cmocka_unit_test(test_lock_quiet),
		cmocka_unit_test(test_imbalance),
		cmocka_unit_test(test_imbalance_quiet),
	};

	return cmocka_run_group_tests_name("page_rules", tests, NULL, NULL);
}
