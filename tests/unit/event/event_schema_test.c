/* The schema as bytes, and the description of the meta records. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/log_format.h"
#include "event/meta.h"

static void assert_same_kind(const struct kind *a, const struct kind *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->size, b->size);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->help, b->help);
	assert_int_equal(a->n_fields, b->n_fields);
	for (size_t i = 0; i < a->n_fields; i++) {
		assert_string_equal(a->fields[i].name, b->fields[i].name);
		assert_string_equal(a->fields[i].help, b->fields[i].help);
		assert_int_equal(a->fields[i].offset, b->fields[i].offset);
		assert_int_equal(a->fields[i].type, b->fields[i].type);
		assert_int_equal(a->fields[i].unit, b->fields[i].unit);
		assert_int_equal(a->fields[i].count, b->fields[i].count);
	}
}

static void encode_meta(struct str *out)
{
	struct schema s = {};

	assert_int_equal(schema_add(&s, meta_kinds, meta_kinds_n), 0);
	assert_int_equal(log_schema_encode(&s, out), 0);
}

static void round_trip(void **state)
{
	_cleanup_str_ struct str bytes = {};
	struct arena arena = {};
	struct schema s = {};

	(void)state;
	encode_meta(&bytes);
	assert_int_equal(log_schema_decode(bytes.buf, bytes.len, &arena, &s), 0);
	for (size_t i = 0; i < meta_kinds_n; i++) {
		const struct kind *k = schema_find(&s, meta_kinds[i].kind);

		assert_non_null(k);
		assert_same_kind(&meta_kinds[i], k);
	}
	arena_free(&arena);
}

static void cut_anywhere(void **state)
{
	_cleanup_str_ struct str bytes = {};

	(void)state;
	encode_meta(&bytes);
	for (size_t n = 0; n < bytes.len; n++) {
		char *copy = malloc(n + 1); /* so that a sanitizer sees reads beyond it */
		struct arena arena = {};
		struct schema s = {};

		memcpy(copy, bytes.buf, n);
		assert_int_equal(log_schema_decode(copy, n, &arena, &s), -EBADMSG);
		arena_free(&arena);
		free(copy);
	}
}

/* Whatever is decoded, its fields lie within their record. */
static void flipped_anywhere(void **state)
{
	_cleanup_str_ struct str bytes = {};

	(void)state;
	encode_meta(&bytes);
	for (size_t bit = 0; bit < bytes.len * 8; bit++) {
		struct arena arena = {};
		struct schema s = {};

		bytes.buf[bit / 8] ^= (char)(1 << bit % 8);
		log_schema_decode(bytes.buf, bytes.len, &arena, &s);
		bytes.buf[bit / 8] ^= (char)(1 << bit % 8);
		for (u16 i = 0; i < ARRAY_SIZE(s.by_number); i++) {
			const struct kind *k = schema_find(&s, i);

			for (size_t j = 0; k && j < k->n_fields; j++)
				assert_true(k->fields[j].offset <= k->size);
		}
		arena_free(&arena);
	}
}

static void what_does_not_fit_is_left_out(void **state)
{
	static const struct field fields[] = {
		{.name = "good", .offset = 16, .type = FIELD_U64, .count = 1, .help = ""},
		{.name = "outside", .offset = 20, .type = FIELD_U64, .count = 1, .help = ""},
		{.name = "newer", .offset = 16, .type = 77, .count = 1, .help = ""},
		{.name = "none", .offset = 16, .type = FIELD_U8, .count = 0, .help = ""},
		{.name = "long", .offset = 16, .type = FIELD_U8, .count = 9, .help = ""},
		{.name = "last", .offset = 16, .type = FIELD_CHARS, .count = 8, .help = ""},
	};
	static const struct kind kind = {.kind = 7,
		.size = 24,
		.name = "k",
		.fields = fields,
		.n_fields = ARRAY_SIZE(fields),
		.help = ""};
	_cleanup_str_ struct str bytes = {};
	struct schema s = {}, got = {};
	struct arena arena = {};
	const struct kind *k;

	(void)state;
	assert_int_equal(schema_add(&s, &kind, 1), 0);
	assert_int_equal(log_schema_encode(&s, &bytes), 0);
	assert_int_equal(log_schema_decode(bytes.buf, bytes.len, &arena, &got), 0);
	k = schema_find(&got, 7);
	assert_int_equal(k->n_fields, 2);
	assert_string_equal(k->fields[0].name, "good");
	assert_string_equal(k->fields[1].name, "last");
	arena_free(&arena);
}

/* A newer writer says more about a field: the entry is longer, the rest is as before. */
static void entries_may_grow(void **state)
{
	struct {
		u32 n;
		struct log_kind kind;
		char texts[4];
		u32 more;
	} __attribute__((packed)) bytes = {
		.n = 1,
		.kind = {.bytes = sizeof(bytes) - sizeof(u32), .kind = 9, .size = 16},
		.more = 12345,
	};
	struct arena arena = {};
	struct schema s = {};

	(void)state;
	assert_int_equal(log_schema_decode(&bytes, sizeof(bytes), &arena, &s), 0);
	assert_non_null(schema_find(&s, 9));
	arena_free(&arena);
}

static void too_long_is_refused(void **state)
{
	_cleanup_str_ struct str bytes = {}, help = {};
	struct schema s = {};
	struct kind kind = {.kind = 7, .size = 16, .name = "k"};

	(void)state;
	for (int i = 0; i <= 0xffff; i++)
		str_addc(&help, 'x');
	kind.help = help.buf;
	assert_int_equal(schema_add(&s, &kind, 1), 0);
	assert_int_equal(log_schema_encode(&s, &bytes), -E2BIG);
}

static size_t width(u8 type)
{
	static const size_t widths[] = {0, 1, 2, 4, 8, 4, 8, 1, 0, 0};

	assert_true(type >= FIELD_U8 && type <= FIELD_U32S);
	return widths[type];
}

/* Every byte after the head is described once, with its meaning. */
static void meta_is_described(void **state)
{
	(void)state;
	for (size_t i = 0; i < meta_kinds_n; i++) {
		const struct kind *k = &meta_kinds[i];
		size_t end = sizeof(struct rec);

		assert_true(k->name && k->name[0] && k->help && k->help[0]);
		for (size_t j = 0; j < k->n_fields; j++) {
			const struct field *f = &k->fields[j];

			assert_true(f->name && f->name[0] && f->help && f->help[0]);
			if (f->offset == offsetof(struct rec, flags))
				continue;
			assert_true(f->offset >= end && f->offset - end < 8);
			end = f->offset + width(f->type) * f->count;
			if (f->type == FIELD_TEXT || f->type == FIELD_U32S)
				assert_int_equal(j, k->n_fields - 1);
		}
		assert_true(end <= k->size && k->size - end < 8);
	}
}

static void numbers_are_taken_once(void **state)
{
	static const struct kind other = {.kind = REC_HOST, .name = "other"};
	static const struct kind large = {.kind = REC_KINDS, .name = "large"};
	struct schema s = {};

	(void)state;
	assert_int_equal(schema_add(&s, meta_kinds, meta_kinds_n), 0);
	assert_int_equal(schema_add(&s, meta_kinds, meta_kinds_n), 0);
	assert_int_equal(schema_add(&s, &other, 1), -EEXIST);
	assert_int_equal(schema_add(&s, &large, 1), -ERANGE);
	assert_null(schema_find(&s, REC_KINDS - 1));
	assert_null(schema_find(&s, 60000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(flipped_anywhere),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(entries_may_grow),
		cmocka_unit_test(too_long_is_refused),
		cmocka_unit_test(meta_is_described),
		cmocka_unit_test(numbers_are_taken_once),
	};

	return cmocka_run_group_tests_name("event schema", tests, NULL, NULL);
}
