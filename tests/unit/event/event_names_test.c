/* The dictionaries of a stream: what was set last is found, whatever the numbers are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "event/dictionaries.h"

#define IDS 20000

static const char values[3 * IDS]; /* their addresses */

/* What each of the numbers has, in a map and in a plain list. */
struct both {
	struct stream_names *names;
	u64 ids[IDS];
	const void *has[IDS];
	size_t n;
};

static void set(struct both *b, u64 id, const void *value)
{
	size_t i = 0;

	while (i < b->n && b->ids[i] != id)
		i++;
	b->n += i == b->n;
	b->ids[i] = id;
	b->has[i] = value;
	assert_int_equal(names_set(b->names, &b->names->frames, id, value), 0);
}

static void check(const struct both *b)
{
	for (size_t i = 0; i < b->n; i++)
		assert_ptr_equal(names_find(b->names, &b->names->frames, b->ids[i]), b->has[i]);
}

static struct both *both_new(void)
{
	struct both *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->names = names_new();
	assert_non_null(b->names);
	return b;
}

static void both_free(struct both *b)
{
	names_free(b->names);
	free(b);
}

static void in_turn_and_far_away(void **state)
{
	struct both *b = both_new();
	const u64 far[] = {1000, 3000, 1ULL << 32, UINT64_MAX, UINT64_MAX - 1, 257};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		set(b, far[i], &values[i]);
	check(b);
	for (u64 id = 0; id < 3000; id++) /* past some of those that were far */
		if (id % 3)
			set(b, id, &values[IDS + id]);
	check(b);
	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		set(b, far[i], &values[2 * IDS + i]);
	check(b);
	assert_null(names_find(b->names, &b->names->frames, 6000));
	assert_null(names_find(b->names, &b->names->frames, 1ULL << 40));
	assert_null(names_find(b->names, &b->names->stacks, 1));
	both_free(b);
}

/* Numbers far from each other take no more memory than those that are given in turn. */
static void room_is_for_what_is_there(void **state)
{
	struct both *b = both_new();

	(void)state;
	for (u64 i = 0; i < 2000; i++) {
		set(b, i * i * 7, &values[i]);
		assert_true(b->names->frames.n_low <= 512 + 8 * (i + 1));
	}
	check(b);
	both_free(b);
}

/* What is taken out is gone, and what was put behind it in the same places is still found. */
static void taken_out(void **state)
{
	struct both *b = both_new();
	struct id_map *tasks = &b->names->tasks;
	static u32 has[4000]; /* by id: index of its value, 0: none */
	u64 random = 1;

	(void)state;
	for (size_t i = 0; i < 200000; i++) {
		u32 id;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		id = (u32)(random >> 33) % ARRAY_SIZE(has);
		if (random >> 63) {
			names_remove(b->names, tasks, id);
			has[id] = 0;
		} else {
			has[id] = 1 + (u32)(i % (IDS - 1));
			assert_int_equal(names_set(b->names, tasks, id, &values[has[id]]), 0);
		}
		if (i % 1000)
			continue;
		for (u32 k = 0; k < ARRAY_SIZE(has); k++)
			assert_ptr_equal(
				names_find(b->names, tasks, k), has[k] ? &values[has[k]] : NULL);
	}
	for (u32 k = 0; k < ARRAY_SIZE(has); k++)
		names_remove(b->names, tasks, k);
	assert_int_equal(tasks->n, 0);
	both_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_turn_and_far_away),
		cmocka_unit_test(room_is_for_what_is_there),
		cmocka_unit_test(taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
