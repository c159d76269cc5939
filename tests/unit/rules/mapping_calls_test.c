/* Calls that change mappings, and signals for protected memory, by what they cost. */
#include "rules/rules_fixture.h"

#include "probes/mmcalls/mmcalls.h"
#include "probes/waits/waits.h"
#include "rules/rules.h"

#define BURSTS 10

/* In each burst of 50 ms, one a second: so many of a call, and the time of each. */
static void calls(struct bench *b, u32 tgid, u16 call, u64 count, u64 each_ns)
{
	PUT(b, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = tgid, .call = call, .count = count,
		.timed = count, .total_ns = count * each_ns, .bytes = count * 4096);
}

static void burst_over(struct bench *b)
{
	PUT(b, struct mmcalls_sampled, REC_MMCALLS_SAMPLED, .bursts = 1,
		.on_ns = 50 * NSEC_PER_MSEC, .covered_ns = NSEC_PER_SEC);
}

/* A write barrier that protects pages and is told of writes by signals. */
static void test_barrier(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_mapping_calls, 1);
	for (int i = 0; i < BURSTS; i++) {
		calls(&b, 7, MMCALLS_MPROTECT, 5000, 4000);
		calls(&b, 7, MMCALLS_SIGNAL, 2500, 0);
		burst_over(&b);
	}
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_int_equal(f->tgid, 7);
	assert_int_equal(f->losses, LOSS_FLUSH);
	/* 20 ms of calls and 5 ms of signals, in 50 ms */
	assert_int_equal(f->cost_ns, 5 * NSEC_PER_SEC);
	assert_non_null(strstr(f->title, "victim (pid 7) keeps changing its mappings: it "
					 "calls mprotect() 100000 times a second, and handles a "
					 "signal for a protected page 50000 times: 50.0 % of the "
					 "time"));
	assert_true(
		says(f->evidence, "mprotect() 100000 times a second, 4.00 KiB each, mean 4.00"));
	assert_true(says(f->evidence, "10.0 % of the time, at an estimated 2 us each"));
	assert_true(says(f->try_, "UFFDIO_WRITEPROTECT"));
	assert_false(says(f->try_, "map the memory twice"));
	end(&b);
}

/* Some calls were counted and their ends not seen: they took as long as the others. */
static void test_untimed(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_mapping_calls, 1);
	for (int i = 0; i < BURSTS; i++) {
		PUT(&b, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = 7, .call = MMCALLS_MPROTECT,
			.count = 5000, .timed = 2500, .total_ns = 2500 * 4000,
			.bytes = 5000 * 4096);
		burst_over(&b);
	}
	assert_int_equal(only(&b)->cost_ns, 4 * NSEC_PER_SEC);
	end(&b);
}

/* What madvise() gives back keeps its mapping, however large it is: no setting of mappings helps.
 */
static void test_large_advice(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_mapping_calls, 1);
	for (int i = 0; i < BURSTS; i++) {
		PUT(&b, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = 7, .call = MMCALLS_MADVISE,
			.count = 5000, .timed = 5000, .total_ns = 5000 * 4000,
			.bytes = 5000 * 100 * MIB);
		burst_over(&b);
	}
	f = only(&b);
	assert_true(says(f->try_, "no malloc_trim()"));
	assert_false(says(f->try_, "mmap_max=0"));
	end(&b);
}

/* Signals beside a call that is not mprotect() are no write barrier. */
static void test_signals_beside(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_mapping_calls, 1);
	for (int i = 0; i < BURSTS; i++) {
		calls(&b, 7, MMCALLS_MUNMAP, 5000, 4000);
		calls(&b, 7, MMCALLS_SIGNAL, 2500, 0);
		burst_over(&b);
	}
	f = only(&b);
	assert_true(says(f->evidence, "at an estimated 2 us each"));
	assert_false(says(f->try_, "UFFDIO_WRITEPROTECT"));
	end(&b);
}

/* Of each call what helps against it; that with most time is the one. */
static void test_advice(void **unused)
{
	static const struct {
		u16 call;
		const char *name, *advice;
	} cases[] = {{MMCALLS_MPROTECT, "mprotect()", "map the memory twice"},
		{MMCALLS_MREMAP, "mremap()", "by a factor"},
		{MMCALLS_MUNMAP, "munmap()", "mmap_threshold"}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_mapping_calls, 1);
		for (int n = 0; n < BURSTS; n++) {
			calls(&b, 7, cases[i].call, 2000, 20000);
			calls(&b, 7, MMCALLS_MMAP, 4000, 500);
			burst_over(&b);
		}
		f = only(&b);
		assert_int_equal(f->level, LEVEL_WARNING);
		assert_non_null(strstr(f->title, cases[i].name));
		assert_true(says(f->try_, cases[i].advice));
		assert_false(says(f->evidence, "mmap() 80000")); /* a twentieth of it */
		end(&b);
	}
}

/* Little time; few calls, which are about what they free; what is over in two seconds; and what has
 * no time, as in recordings of before. */
static void test_quiet(void **unused)
{
	static const struct {
		u64 count, each_ns;
		int bursts;
	} cases[] = {{1000, 2000, BURSTS}, {10, 2 * NSEC_PER_MSEC, BURSTS}, {5000, 8000, 2},
		{5000, 0, BURSTS}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;

		begin(&b, &rule_mapping_calls, 1);
		for (int n = 0; n < BURSTS; n++) {
			if (n < cases[i].bursts)
				calls(&b, 7, MMCALLS_MPROTECT, cases[i].count, cases[i].each_ns);
			burst_over(&b);
		}
		assert_int_equal(conclude(&b), 0);
		end(&b);
	}
}

/* Waits for the lock of the address space are another rule's, which tells who has it. */
static void test_waits(void **unused)
{
	(void)unused;
	for (int in_call = 0; in_call < 2; in_call++) {
		struct bench b;

		begin(&b, &rule_mapping_calls, 1);
		for (int i = 0; i < BURSTS; i++) {
			calls(&b, 7, MMCALLS_MUNMAP, 500, 50000);
			burst_over(&b);
		}
		PUT(&b, struct waits_lock, REC_WAITS_LOCK, .tgid = 7,
			.flags = WAITS_CALL_KNOWN | WAITS_WRITE,
			.call = in_call ? MMCALLS_MUNMAP : WAITS_NO_CALL, .count = 5000,
			.total_ns = 48 * NSEC_PER_SEC / 10);
		assert_int_equal(conclude(&b), !in_call);
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_untimed),
		cmocka_unit_test(test_signals_beside),
		cmocka_unit_test(test_large_advice),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests_name("mapping_calls", tests, NULL, NULL);
}
