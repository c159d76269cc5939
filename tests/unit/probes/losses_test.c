/* What a report says of events that were lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "event/meta.h"
#include "probes/losses.h"

#define assert_says(c_, n_, part_) assert_non_null(strstr(losses_reason(c_, n_), part_))

static void most_tell(void **state)
{
	struct capture c = {};

	(void)state;
	assert_says(&c, (&(struct probe_counts){.lost_ring = 1}), "--ring-size");
	assert_says(&c, (&(struct probe_counts){.lost_map = 1}), "table full");
	assert_says(&c, (&(struct probe_counts){.lost_state = 1}), "no memory to track");
	assert_says(&c, (&(struct probe_counts){.lost_busy = 1}), "program was running");
	assert_says(&c, (&(struct probe_counts){.lost_map = 9, .lost_state = 8}), "table full");
	assert_says(&c, (&(struct probe_counts){.lost_map = 8, .lost_state = 9}), "no memory");
}

static void what_fills_a_table_tells_what_helps(void **state)
{
	struct capture c = {};

	(void)state;
	assert_string_equal(losses_table_full(&c), "table full: narrower scope (-p, -c, -g)");
	c.opt.kernel_stacks = true;
	assert_string_equal(losses_table_full(&c), "table full: -p, -c or -g, or without --stacks");
	c.opt.max_bytes = 1;
	c.shrink = 1;
	assert_string_equal(losses_table_full(&c), "table full: larger --max-memory");
}

/* What does not fit is cut in the record. */
static void reasons_fit_their_record(void **state)
{
	static const struct probe_counts all[] = {
		{.lost_ring = 1}, {.lost_map = 1}, {.lost_state = 1}, {.lost_busy = 1}};
	struct capture c = {.opt.user_stacks = true};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_true(strlen(losses_reason(&c, &all[i])) <
			    sizeof(((struct rec_loss *)0)->reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_tell),
		cmocka_unit_test(what_fills_a_table_tells_what_helps),
		cmocka_unit_test(reasons_fit_their_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
