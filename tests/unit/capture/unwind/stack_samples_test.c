/* Whose samples are taken: those of the process that was chosen. */
#include "capture/unwind/stack_samples.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define OURS_PID 700

struct told {
	struct sample e;
	u64 sound; /* stack of no bytes */
};

static struct told sample_of(u32 pid)
{
	struct told t = {.e = {.h = {.type = PERF_RECORD_SAMPLE, .size = sizeof(t)},
				 .pid = pid,
				 .tid = 701,
				 .address = 0x1000,
				 .abi = PERF_SAMPLE_REGS_ABI_64}};

	t.e.registers[IP] = 0x5000;
	return t;
}

static void taken(u32 pid, size_t most, size_t want)
{
	struct process_map map = {};
	struct stack_samples s = {.tgid = OURS_PID, .most = most, .map = &map};
	struct told t = sample_of(pid);

	assert_int_equal(stack_sample_take(&s, &t.e.h), 0);
	assert_int_equal(s.list.n, want);
	if (want)
		assert_int_equal(s.list.v[0].address, 0x1000);
	vec_free(&s.list);
}

static void test_of_the_process(void **state)
{
	(void)state;
	taken(OURS_PID, 2, 1);
	taken(OURS_PID, 0, 0);
}

/* The thread had ended, and its id was another process's, when it was opened. */
static void test_of_another(void **state)
{
	(void)state;
	taken(OURS_PID + 1, 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_the_process),
		cmocka_unit_test(test_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
