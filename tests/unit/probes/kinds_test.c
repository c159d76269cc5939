/* The numbers and names of records on disk: each used once, and each record as its fields say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/meta.h"
#include "probes/probe.h"

#define NUMBERS 1024

static const struct kind *seen[NUMBERS];

static void kind_take(const struct kind *k)
{
	if (k->kind >= NUMBERS)
		fail_msg("%s has number %u", k->name, k->kind);
	if (seen[k->kind])
		fail_msg("%s and %s both have number %u", k->name, seen[k->kind]->name, k->kind);
	for (size_t i = 0; i < NUMBERS; i++)
		if (seen[i] && !strcmp(seen[i]->name, k->name))
			fail_msg("%u and %zu are both called %s", k->kind, i, k->name);
	seen[k->kind] = k;
}

static void kinds_take(void)
{
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < meta_kinds_n; i++)
		kind_take(&meta_kinds[i]);
	for (size_t i = 0; i < probes_n; i++)
		for (size_t n = 0; n < probes[i]->n_kinds; n++)
			kind_take(&probes[i]->kinds[n]);
}

static void each_number_and_name_once(void **state)
{
	(void)state;
	kinds_take();
	assert_non_null(seen[REC_FAULTS_AGG]);
	assert_non_null(seen[REC_HOST]);
}

/* Numbers below 700 are in blocks of 32, of one probe each. */
static void blocks_are_of_one_probe(void **state)
{
	const struct probe *of[NUMBERS / 32] = {};

	(void)state;
	for (size_t i = 0; i < probes_n; i++)
		for (size_t n = 0; n < probes[i]->n_kinds; n++) {
			u32 number = probes[i]->kinds[n].kind, block = number / 32;

			assert_true(number >= 64 && number < NUMBERS);
			if (number >= 700 && number < 768)
				continue;
			if (of[block] && of[block] != probes[i])
				fail_msg("%s and %s share the numbers from %u on", of[block]->name,
					probes[i]->name, block * 32);
			of[block] = probes[i];
		}
}

static u32 width(const struct field *f)
{
	static const u8 bytes[] = {[FIELD_U8] = 1,
		[FIELD_U16] = 2,
		[FIELD_U32] = 4,
		[FIELD_U64] = 8,
		[FIELD_S32] = 4,
		[FIELD_S64] = 8,
		[FIELD_CHARS] = 1,
		[FIELD_TEXT] = 1,
		[FIELD_U32S] = 4};

	return bytes[f->type] * MAX(f->count, (u16)1);
}

/* Fields are inside of their record, aligned, and on top of no other. */
static void fields_are_where_they_say(void **state)
{
	(void)state;
	kinds_take();
	for (size_t i = 0; i < NUMBERS; i++) {
		u8 used[4096] = {};

		if (!seen[i])
			continue;
		if (seen[i]->size % 8)
			fail_msg("%s is no multiple of 8 bytes", seen[i]->name);
		for (size_t n = 0; n < seen[i]->n_fields; n++) {
			const struct field *f = &seen[i]->fields[n];

			if (f->offset + (f->count ? width(f) : 0) > seen[i]->size ||
				(f->offset < sizeof(struct rec) &&
					f->offset != offsetof(struct rec, flags)))
				fail_msg("%s.%s is outside of the record", seen[i]->name, f->name);
			for (u32 at = f->offset; f->count && at < f->offset + width(f); at++)
				if (used[at]++)
					fail_msg("%s.%s is on another field", seen[i]->name,
						f->name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_and_name_once),
		cmocka_unit_test(blocks_are_of_one_probe),
		cmocka_unit_test(fields_are_where_they_say),
	};

	return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
