/* See gotable.h. */
#include "sym/gotable.h"

#include <errno.h>
#include <string.h>

#define HEADER 8 /* bytes before the first number */
#define MAGIC_1_2 0xfffffffb
#define MAGIC_1_16 0xfffffffa
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

#define INLINED_VALUES 2 /* the table that tells which instructions were inlined */
#define NOT_A_FILE 0xffffffff

/* Generous to any honest table; in others they bound the time of a lookup. */
#define STRING_MAX 16384U
#define CHANGES_MAX (1U << 18) /* in the values of one function */

/* Of a function's record, from behind its address on. */
enum {
	RECORD_NAME = 0,
	RECORD_FILES = 16,
	RECORD_LINES = 20,
	RECORD_TABLES = 24, /* how many more there are */
	RECORD_UNIT = 28,
	RECORD_MORE = 36, /* 1.20: 4 later */
};

/* A number of 4 or 8 bytes. */
static bool number_get(const struct go_table *t, u64 at, u8 bytes, u64 *ret)
{
	*ret = 0;
	if (at > t->size || t->size - at < bytes)
		return false;
	memcpy(ret, t->bytes + at, bytes);
	return true;
}

/* The i-th number of the header. */
static bool header_get(const struct go_table *t, unsigned int i, u64 *ret)
{
	return number_get(t, HEADER + (u64)i * t->word, t->word, ret);
}

static const char *string_get(const struct go_table *t, u64 at)
{
	if (at >= t->size || !memchr(t->bytes + at, 0, MIN(t->size - at, STRING_MAX)))
		return NULL;
	return (const char *)t->bytes + at;
}

static int layout_of(u64 magic, enum go_layout *ret)
{
	switch (magic) {
	case MAGIC_1_2:
		*ret = GO_1_2;
		return 0;
	case MAGIC_1_16:
		*ret = GO_1_16;
		return 0;
	case MAGIC_1_18:
		*ret = GO_1_18;
		return 0;
	case MAGIC_1_20:
		*ret = GO_1_20;
		return 0;
	}
	return -ENOEXEC;
}

static int head_read(const void *bytes, size_t size, struct go_table *ret)
{
	struct go_table t = {.bytes = bytes, .size = size};
	u64 magic;

	if (size < HEADER || !number_get(&t, 0, 4, &magic) || layout_of(magic, &t.layout))
		return -ENOEXEC;
	t.quantum = t.bytes[6];
	t.word = t.bytes[7];
	if (t.bytes[4] || t.bytes[5] || !t.quantum || (t.word != 4 && t.word != 8))
		return -ENOEXEC;
	t.entry = t.layout >= GO_1_18 ? 4 : t.word;
	*ret = t;
	return 0;
}

int go_table_text_field(const void *bytes, size_t size)
{
	struct go_table t;
	int rc = head_read(bytes, size, &t);

	if (rc)
		return rc;
	return t.layout >= GO_1_18 ? HEADER + 2 * t.word : 0;
}

/* Where the parts are: from 1.16 on the header says it. */
static bool parts_read(struct go_table *t)
{
	unsigned int i = t->layout >= GO_1_18 ? 3 : 2;

	if (t->layout == GO_1_2) {
		t->functions = HEADER + t->word;
		return true;
	}
	if (!header_get(t, i, &t->names) || !header_get(t, i + 1, &t->units) ||
		!header_get(t, i + 2, &t->files) || !header_get(t, i + 3, &t->values) ||
		!header_get(t, i + 4, &t->functions))
		return false;
	t->base = t->functions;
	return t->names < t->size && t->units < t->size && t->files < t->size &&
	       t->values < t->size && t->functions < t->size;
}

int go_table_open(const void *bytes, size_t size, u64 text, struct go_table *ret)
{
	struct go_table t;
	int rc = head_read(bytes, size, &t);

	if (rc)
		return rc;
	if (!header_get(&t, 0, &t.n) || !parts_read(&t))
		return -ENOEXEC;
	if (t.layout >= GO_1_18 && !header_get(&t, 2, &t.text))
		return -ENOEXEC;
	if (t.layout >= GO_1_18 && text)
		t.text = text;
	/* Behind the last one is the address where it ends. */
	if (t.n > (t.size - t.functions) / (2 * t.entry) ||
		(t.size - t.functions) - t.n * 2 * t.entry < t.entry)
		return -ENOEXEC;
	*ret = t;
	return 0;
}

/* Where the i-th function begins; of the last one + 1, where the last one ends. */
static u64 start_of(const struct go_table *t, u64 i)
{
	u64 start;

	(void)number_get(t, t->functions + i * 2 * t->entry, t->entry, &start);
	return t->text + start;
}

/* What follows the address in the record of a function. */
static int record_of(const struct go_table *t, u64 i, u64 *ret)
{
	u64 offset;

	if (!number_get(t, t->functions + (i * 2 + 1) * t->entry, t->entry, &offset) ||
		offset >= t->size - t->base)
		return -EBADMSG;
	*ret = t->base + offset + t->entry;
	return 0;
}

int go_table_function(const struct go_table *t, u64 i, struct go_function *ret)
{
	struct go_function f;
	u64 record, name;
	int rc;

	if (i >= t->n)
		return -EBADMSG;
	rc = record_of(t, i, &record);
	if (rc)
		return rc;
	f.start = start_of(t, i);
	f.end = start_of(t, i + 1);
	if (f.start >= f.end || !number_get(t, record + RECORD_NAME, 4, &name))
		return -EBADMSG;
	f.name = string_get(t, t->names + name);
	if (!f.name || !f.name[0])
		return -EBADMSG;
	*ret = f;
	return 0;
}

/* A number of seven bits a byte, the lowest first; at most 32 bits. */
static bool varint_get(const struct go_table *t, u64 *at, u32 *ret)
{
	u32 value = 0;

	for (unsigned int shift = 0; shift < 35; shift += 7) {
		u8 byte;

		if (*at >= t->size)
			return false;
		byte = t->bytes[(*at)++];
		value |= (u32)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* The value of an instruction in a table of changes: pairs of how much the value changes, and for
 * how many bytes of code it then holds. It begins with -1. */
static int value_find(const struct go_table *t, u64 table, u64 start, u64 address, s32 *ret)
{
	u64 at = t->values + table, pc = start;
	u32 value = (u32)-1, change, length;

	if (!table)
		return -ENOENT;
	for (u32 n = 0; n < CHANGES_MAX && varint_get(t, &at, &change); n++) {
		if (!change && n)
			return -ENOENT;
		value += change >> 1 ^ -(change & 1);
		if (!varint_get(t, &at, &length))
			return -ENOENT;
		pc += (u64)length * t->quantum;
		if (address < pc) {
			*ret = (s32)value;
			return 0;
		}
	}
	return -ENOENT;
}

/* The last function that begins at the address or before. */
static int function_at(const struct go_table *t, u64 address, u64 *ret)
{
	u64 low = 0, high = t->n;

	while (low < high) {
		u64 middle = low + (high - low) / 2;

		if (start_of(t, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	*ret = low - 1;
	return 0;
}

/* The value of an instruction in a table whose offset stands in its function's record. */
static int record_value(
	const struct go_table *t, u64 record, u64 field, u64 start, u64 address, s32 *ret)
{
	u64 table;

	if (!number_get(t, record + field, 4, &table))
		return -ENOENT;
	return value_find(t, table, start, address, ret);
}

static bool is_inlined(const struct go_table *t, u64 record, u64 start, u64 address)
{
	u64 more = RECORD_MORE + (t->layout >= GO_1_20 ? 4 : 0), n;
	s32 which;

	return number_get(t, record + RECORD_TABLES, 4, &n) && n > INLINED_VALUES &&
	       !record_value(t, record, more + 4ULL * INLINED_VALUES, start, address, &which) &&
	       which >= 0;
}

/* Files are numbered within the unit they were compiled in. */
static const char *file_name(const struct go_table *t, u64 record, s32 number)
{
	u64 unit, name;

	if (number < 0 || !number_get(t, record + RECORD_UNIT, 4, &unit) ||
		!number_get(t, t->units + 4 * (unit + (u64)number), 4, &name) || name == NOT_A_FILE)
		return NULL;
	return string_get(t, t->files + name);
}

int go_table_line(const struct go_table *t, u64 address, const char **ret_file, u32 *ret_line)
{
	const char *name;
	u64 i, start, record;
	s32 file, line;

	if (t->layout == GO_1_2 || function_at(t, address, &i) || record_of(t, i, &record))
		return -ENOENT;
	start = start_of(t, i);
	if (is_inlined(t, record, start, address) ||
		record_value(t, record, RECORD_FILES, start, address, &file) ||
		record_value(t, record, RECORD_LINES, start, address, &line) || line <= 0)
		return -ENOENT;
	name = file_name(t, record, file);
	if (!name || !name[0])
		return -ENOENT;
	*ret_file = name;
	*ret_line = (u32)line;
	return 0;
}
