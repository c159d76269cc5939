/* Read-ahead in vain, by what a process asked for and what was read for it. */
#include "rules/rules_fixture.h"

#include "probes/cache/cache.h"
#include "probes/faults/faults.h"
#include "rules/rules.h"

struct second {
	u64 read_mib, asked_kib, asks, faults;
	u16 flags;
	bool bare; /* without totals */
};

/* Ten seconds, each of which is so. */
static void reads(struct bench *b, struct second each, u64 ahead_bytes)
{
	string(b, 5, "/sys/block/sda/bdi/read_ahead_kb");
	for (u64 i = 1; i <= 10; i++)
		PUT_AT(b, i * NSEC_PER_SEC, struct cache_agg, REC_CACHE_AGG, .tgid = 7,
			.flags = each.flags, .count = each.read_mib * 256 / CACHE_STRIDE,
			.asked_bytes = each.bare ? 0 : 1000 + i * each.asked_kib * 1024,
			.asks = each.bare ? 0 : 1000 + i * each.asks,
			.faults = 1000 + i * each.faults, .read_ahead_bytes = ahead_bytes,
			.read_ahead_file = ahead_bytes ? 5 : 0);
}

static void test_random_reads(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_read_ahead, 1);
	reads(&b, (struct second){.read_mib = 240, .asks = 60, .faults = 60}, 4 * MIB);
	PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .flags = FAULT_MAJOR, .count = 600,
		.timed = 600, .total_ns = 3 * NSEC_PER_SEC);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING); /* 30 % of the time in faults */
	assert_int_equal(f->tgid, 7);
	assert_int_equal(f->cost_ns, 3 * NSEC_PER_SEC);
	assert_non_null(strstr(f->title, "victim (pid 7) causes 240 MiB a second to be read from "
					 "disk and uses at most 2 % of it"));
	assert_non_null(strstr(f->title, "the kernel reads 4.00 MiB ahead"));
	assert_true(says(f->evidence, "60 read calls and major faults a second, 4.00 MiB read"));
	assert_true(says(f->try_, "MADV_RANDOM"));
	assert_true(says(f->try_, "echo 128 > /sys/block/sda/bdi/read_ahead_kb"));
	assert_true(says(f->undo, "echo 4096 > /sys/block/sda/bdi/read_ahead_kb"));
	end(&b);
	begin(&b, &rule_read_ahead, 1);
	reads(&b, (struct second){.read_mib = 240, .asked_kib = 1000, .asks = 60}, 4 * MIB);
	assert_int_equal(only(&b)->level, LEVEL_RISK);
	end(&b);
	/* Less: a note. Of a device that is not known only the program can be told. */
	begin(&b, &rule_read_ahead, 1);
	reads(&b, (struct second){.read_mib = 16, .asked_kib = 400, .asks = 100}, 0);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_false(says(f->try_, "read_ahead_kb"));
	end(&b);
	/* It is read no further ahead than usual. */
	begin(&b, &rule_read_ahead, 1);
	reads(&b, (struct second){.read_mib = 60, .asked_kib = 1000, .asks = 500}, 128 << 10);
	assert_false(says(only(&b)->try_, "read_ahead_kb"));
	end(&b);
}

/* Who uses what it reads, by calls or through a mapping; who reads ahead itself, or by calls that
 * are not counted; what is written; and recordings of before. */
static void test_quiet(void **unused)
{
	static const struct second cases[] = {
		{.read_mib = 200, .asked_kib = 200 << 10, .asks = 1600},
		{.read_mib = 200, .asked_kib = 60 << 10, .asks = 1600}, /* a quarter and more */
		{.read_mib = 200, .asks = 30, .faults = 3200},
		{.read_mib = 200, .asks = 2},
		{.read_mib = 200, .asks = 60, .flags = CACHE_WRITTEN},
		{.read_mib = 200, .asks = 60, .bare = true},
		{.read_mib = 4, .asks = 60},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;

		begin(&b, &rule_read_ahead, 1);
		reads(&b, cases[i], 8 * MIB);
		assert_int_equal(conclude(&b), 0);
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_reads),
		cmocka_unit_test(test_quiet),
	};

	return cmocka_run_group_tests_name("read_ahead", tests, NULL, NULL);
}
