/* The rule on processes that end for want of memory though nobody kills them. */
#include "rules_fixture.h"

#include "probes/holders/holders.h"
#include "probes/oom/oom.h"
#include "probes/processes/processes.h"
#include "rules/rules.h"

#define STACK_START 0x7fff00000000ULL
#define STACK_END (STACK_START - 8 * MIB)

static void crash(struct bench *b, const struct process_crashed *of)
{
	struct process_crashed r = *of;

	r.h = (struct rec){sizeof(r), REC_PROCESS_CRASHED, 0, NSEC_PER_SEC};
	r.tgid = 7;
	r.tid = r.tid ? r.tid : 7;
	snprintf(r.comm, sizeof(r.comm), "victim");
	put(b, &r);
}

static void test_heap(void **unused)
{
	(void)unused;
	for (u64 limit = 0; limit <= 600; limit += 200) {
		const struct finding *x;
		struct bench b;

		begin(&b, &rule_process_ended, 1);
		PUT(&b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 7,
			.heap_limit_bytes = limit * MIB);
		crash(&b, &(struct process_crashed){.signal = 6, .anon_pages = 300 * 256});
		/* It has no limit that is known, or was far from it: why it aborts is its own. */
		assert_int_equal(conclude(&b), limit && limit < 600);
		if (limit == 200) {
			x = &b.report.findings.v[0];
			assert_int_equal(x->level, LEVEL_WARNING);
			assert_string_equal(x->title,
				"victim (pid 7) was ended by itself (SIGABRT), "
				"as its heap hit its limit of 200 MiB");
			assert_true(says(x->try_, "--max-old-space-size=400"));
		}
		end(&b);
	}
}

/* What lies at the stack pointer is its stack; what does not is a wrong pointer. */
static void test_stack(void **unused)
{
	const struct {
		struct process_crashed r;
		const char *title; /* NULL: nothing is told */
	} cases[] = {
		{{.address = STACK_END - 8, .stack_pointer = STACK_END, .stack_limit = 8 * MIB},
			"its stack is used up: RLIMIT_STACK is 8.00 MiB"},
		{{.address = STACK_END - 8, .stack_pointer = STACK_END, .stack_limit = 64 * MIB},
			NULL},
		{{.address = STACK_END - 8, .stack_pointer = STACK_END, .stack_limit = ~0ULL},
			NULL},
		{{.address = 8, .stack_pointer = STACK_END, .stack_limit = 8 * MIB}, NULL},
		{{.address = STACK_END, .stack_pointer = 0, .stack_limit = 8 * MIB}, NULL},
		{{.tid = 9, .address = 0x7f0000001000, .stack_pointer = 0x7f0000001ff0},
			"the stack of one of its threads is used up"},
		{{.tid = 9, .address = 8, .stack_pointer = 0x7f0000001ff0}, NULL},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process_crashed r = cases[i].r;
		struct bench b;

		r.signal = 11;
		r.stack_start = STACK_START;
		begin(&b, &rule_process_ended, 1);
		crash(&b, &r);
		assert_int_equal(conclude(&b), !!cases[i].title);
		if (cases[i].title) {
			assert_non_null(strstr(b.report.findings.v[0].title, cases[i].title));
			assert_int_equal(b.report.findings.v[0].level, LEVEL_RISK);
			report_destroy(&b.report);
			crash(&b, &r);
			assert_int_equal(only(&b)->level, LEVEL_WARNING); /* again and again */
			assert_non_null(
				strstr(b.report.findings.v[0].title, "as were 2 of that name"));
		}
		end(&b);
	}
}

/* There was no room for a page of a mapping; a file that was cut short does the same. */
static void test_bus(void **unused)
{
	const struct finding *x;
	struct bench b;

	(void)unused;
	for (u64 used = 50; used <= 100; used += 50) {
		begin(&b, &rule_process_ended, 1);
		string(&b, 3, "/dev/shm");
		PUT(&b, struct held_files, REC_HELD_FILES, .mount = 3, .used_bytes = used * MIB,
			.limit_bytes = 100 * MIB);
		crash(&b, &(struct process_crashed){.signal = 7, .code = 2});
		assert_int_equal(conclude(&b), used == 100);
		if (used == 100) {
			x = &b.report.findings.v[0];
			assert_string_equal(x->title,
				"victim (pid 7) was ended by SIGBUS, as the tmpfs "
				"/dev/shm is full: 100 MiB");
			assert_true(says(x->try_, "mount -o remount,size=204800k /dev/shm"));
			assert_true(says(x->undo, "mount -o remount,size=102400k /dev/shm"));
		}
		end(&b);
	}
	for (u64 left = 0; left < 2; left++) {
		begin(&b, &rule_process_ended, 1);
		value(&b, SYSTEM_MEMINFO, "HugePages_Total", 8, NULL);
		value(&b, SYSTEM_MEMINFO, "HugePages_Rsvd", 1, NULL);
		value(&b, SYSTEM_MEMINFO, "HugePages_Free", 1 + left, NULL);
		crash(&b, &(struct process_crashed){.signal = 7, .code = 2});
		value(&b, SYSTEM_MEMINFO, "HugePages_Free", 8, NULL); /* it has ended */
		assert_int_equal(conclude(&b), !left);
		if (!left)
			assert_non_null(strstr(b.report.findings.v[0].title,
				"as the pool of huge pages is empty: all 8 are in use"));
		end(&b);
	}
}

/* A mount has any name that its maker likes, and may be in another namespace. */
static void test_hostile_mount(void **unused)
{
	static const char *const mounts[][2] = {
		{"/mnt/a b;`id`", "-o remount,size=204800k \"$(printf"},
		{"/mnt/$(id)", "-o remount,size=204800k '/mnt/$(id)'`"},
		{"/proc/9/root/dev/shm",
			"`nsenter -t 9 -m mount -o remount,size=204800k /dev/shm`"}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		struct bench b;
		const struct finding *x;

		begin(&b, &rule_process_ended, 1);
		string(&b, 3, mounts[i][0]);
		PUT(&b, struct held_files, REC_HELD_FILES, .mount = 3, .used_bytes = 100 * MIB,
			.limit_bytes = 100 * MIB);
		crash(&b, &(struct process_crashed){.signal = 7, .code = 2});
		x = only(&b);
		assert_true(says(x->try_, mounts[i][1]));
		assert_false(says(x->try_, "`id`"));
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_mount),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_bus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
