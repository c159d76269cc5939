/* How user stacks were had, in one line: shares by method, and the most frequent reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/unwind.h"
#include "capture/unwind/unwind.h"
#include "event/meta.h"

static void none(void **state)
{
	_cleanup_str_ struct str text = {};
	const struct unwind_counts counts = {};

	(void)state;
	assert_false(unwind_shares(&counts, &text));
	assert_string_equal(str_get(&text), "");
}

static void exact(void **state)
{
	_cleanup_str_ struct str text = {};
	struct unwind_counts counts = {};

	(void)state;
	counts.stacks[STACK_EXACT][0] = 7;
	assert_false(unwind_shares(&counts, &text));
	assert_string_equal(str_get(&text), "100.0 % exact");
}

static void shares(void **state)
{
	_cleanup_str_ struct str text = {};
	struct unwind_counts counts = {};

	(void)state;
	counts.stacks[STACK_EXACT][0] = 94000;
	counts.stacks[STACK_GUESSED][0] = 30;
	counts.stacks[STACK_CUT][CFI_STOP_NO_RULE] = 700;
	counts.stacks[STACK_CUT][CFI_STOP_NO_CODE] = 1300;
	counts.stacks[STACK_BY_FRAME_POINTERS][STACK_NOT_READY] = 3970;
	assert_true(unwind_shares(&counts, &text));
	assert_string_equal(str_get(&text),
		"94.0 % exact, 0.030 % complete, some frames by frame pointer, 2.0 % cut short "
		"(mostly: a return address that is not in code), 4.0 % by frame pointers only "
		"(tables not ready yet)");
}

/* A note has room for it, whatever the reasons are. */
static void longest(void **state)
{
	_cleanup_str_ struct str text = {};
	struct unwind_counts counts = {};
	size_t most = 0;

	(void)state;
	for (int cut = 0; cut < CFI_STOPS; cut++)
		for (int fallback = 0; fallback <= STACK_OTHER_CODE; fallback++) {
			memset(&counts, 0, sizeof(counts));
			counts.stacks[STACK_EXACT][0] = counts.stacks[STACK_GUESSED][0] = 9999;
			counts.stacks[STACK_CUT][cut] = 9999;
			counts.stacks[STACK_CUT][0]++;
			counts.stacks[STACK_BY_FRAME_POINTERS][fallback] = 9999;
			counts.stacks[STACK_BY_FRAME_POINTERS][UNWIND_DETAILS - 1]++;
			assert_true(unwind_shares(&counts, &text));
			most = MAX(most, text.len);
		}
	assert_in_range(most, 150, sizeof(((struct rec_note *)NULL)->text) - 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),
		cmocka_unit_test(exact),
		cmocka_unit_test(shares),
		cmocka_unit_test(longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
