/* Calls that wait until what was written is on disk, by what they cost. */
#include "rules/rules_fixture.h"

#include "probes/mmcalls/mmcalls.h"
#include "rules/rules.h"

/* In each of so many bursts of 50 ms, one a second: so many calls, and the time of each. */
static void bursts(struct bench *b, int n, u32 tgid, u16 call, u64 count, u64 each_ns)
{
	for (int i = 0; i < n; i++) {
		PUT(b, struct mmcalls_sync, REC_MMCALLS_SYNC, .tgid = tgid, .call = call,
			.count = count, .timed = count, .total_ns = count * each_ns,
			.max_ns = 2 * each_ns, .bytes = count * 4096);
		PUT(b, struct mmcalls_sampled, REC_MMCALLS_SAMPLED, .bursts = 1,
			.on_ns = 50 * NSEC_PER_MSEC, .covered_ns = NSEC_PER_SEC);
	}
}

static void test_mapped(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_sync_calls, 1);
	bursts(&b, 10, 7, MMCALLS_MSYNC, 10, 4 * NSEC_PER_MSEC);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_int_equal(f->tgid, 7);
	assert_int_equal(f->cost_ns, 8 * NSEC_PER_SEC);
	assert_string_equal(f->title,
		"victim (pid 7) keeps waiting until changed pages of a mapped file are on disk: "
		"msync() 200 times a second: 80.0 % of the time");
	assert_true(says(f->evidence, "100 calls timed, mean 4.00 ms, longest 8.00 ms"));
	assert_true(says(f->evidence, "4.00 KiB a call"));
	assert_true(strstr(f->why, "write-protects"));
	assert_true(says(f->try_, "sync the mapping seldom"));
	end(&b);
}

/* A database commits by design: a note, whatever it costs. */
static void test_written(void **unused)
{
	static const u16 calls[] = {
		MMCALLS_FSYNC, MMCALLS_FDATASYNC, MMCALLS_SYNCFS, MMCALLS_SYNC_FILE_RANGE};
	static const char *const names[] = {
		"fsync()", "fdatasync()", "syncfs()", "sync_file_range()"};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_sync_calls, 1);
		bursts(&b, 10, 7, calls[i], 10, 4 * NSEC_PER_MSEC);
		f = only(&b);
		assert_int_equal(f->level, LEVEL_NOTE);
		assert_true(strstr(f->title, "keeps waiting until what it wrote is on disk: "));
		assert_true(strstr(f->title, names[i]));
		assert_false(says(f->evidence, "a call"));
		assert_false(says(f->try_, "sync the mapping"));
		end(&b);
	}
}

/* Neither what costs little, nor what is over in two seconds. */
static void test_silent(void **unused)
{
	static const struct {
		u16 call;
		u64 each_ns;
		int bursts;
		int level; /* -1: nothing */
	} cases[] = {
		{MMCALLS_MSYNC, 240000, 10, -1}, {MMCALLS_MSYNC, 260000, 10, LEVEL_NOTE},
		{MMCALLS_MSYNC, 1240000, 10, LEVEL_NOTE}, {MMCALLS_MSYNC, 1260000, 10, LEVEL_RISK},
		{MMCALLS_FSYNC, 990000, 10, -1}, {MMCALLS_FSYNC, 1010000, 10, LEVEL_NOTE},
		{MMCALLS_MSYNC, 4000000, 2, -1},
		{MMCALLS_MSYNC, 4000000, 3, LEVEL_NOTE}, /* 24 % of ten seconds */
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;

		begin(&b, &rule_sync_calls, 1);
		bursts(&b, cases[i].bursts, 7, cases[i].call, 10, cases[i].each_ns);
		if (cases[i].level < 0)
			assert_int_equal(conclude(&b), 0);
		else
			assert_int_equal(only(&b)->level, cases[i].level);
		end(&b);
	}
}

/* The worst come first, and only these. */
static void test_several(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_sync_calls, 1);
	for (u32 tgid = 7; tgid < 11; tgid++)
		bursts(&b, 10, tgid, MMCALLS_MSYNC, tgid, 2 * NSEC_PER_MSEC);
	assert_int_equal(conclude(&b), 2);
	assert_int_equal(b.report.findings.v[0].tgid, 10);
	assert_int_equal(b.report.findings.v[1].tgid, 9);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests_name("sync_calls", tests, NULL, NULL);
}
