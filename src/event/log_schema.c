/*
 * The schema as bytes, see log_format.h. It knows the shape of the description and not what any
 * kind is for. Decoding takes nothing on trust: the bytes may come from anywhere.
 */
#include "event/log_format.h"

#include <errno.h>
#include <string.h>

static int text_encode(struct str *out, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	u16 len = (u16)n;

	if (n > LOG_TEXT_MAX)
		return -E2BIG;
	str_addn(out, (const char *)&len, sizeof(len));
	str_addn(out, text ? text : "", n);
	return 0;
}

/* Sets the u32 `bytes` at the start of the entry that began at `at`. */
static void entry_seal(struct str *out, size_t at)
{
	u32 bytes = (u32)(out->len - at);

	if (!out->failed)
		memcpy(out->buf + at, &bytes, sizeof(bytes));
}

static int field_encode(struct str *out, const struct field *f)
{
	struct log_field d = {
		.offset = f->offset,
		.count = f->count,
		.type = f->type,
		.unit = f->unit,
	};
	size_t at = out->len;
	int rc;

	str_addn(out, (const char *)&d, sizeof(d));
	rc = text_encode(out, f->name);
	if (!rc)
		rc = text_encode(out, f->help);
	entry_seal(out, at);
	return rc;
}

static int kind_encode(struct str *out, const struct kind *k)
{
	struct log_kind d = {.kind = k->kind, .size = k->size, .fields = (u16)k->n_fields};
	size_t at = out->len;
	int rc;

	if (k->n_fields > 0xffff)
		return -E2BIG;
	str_addn(out, (const char *)&d, sizeof(d));
	rc = text_encode(out, k->name);
	if (!rc)
		rc = text_encode(out, k->help);
	for (size_t i = 0; !rc && i < k->n_fields; i++)
		rc = field_encode(out, &k->fields[i]);
	entry_seal(out, at);
	return rc;
}

int log_schema_encode(const struct schema *s, struct str *out)
{
	size_t at = out->len;
	u32 n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(s->by_number); i++)
		n += s->by_number[i] != NULL;
	str_addn(out, (const char *)&n, sizeof(n));
	for (size_t i = 0; i < ARRAY_SIZE(s->by_number); i++) {
		int rc = s->by_number[i] ? kind_encode(out, s->by_number[i]) : 0;

		if (rc)
			return rc;
	}
	if (out->failed)
		return -ENOMEM;
	return out->len - at > LOG_BLOCK_MAX ? -E2BIG : 0;
}

/* Bytes yet to be read. */
struct span {
	const char *p;
	size_t n;
};

static int span_take(struct span *s, size_t n, const char **ret)
{
	if (n > s->n)
		return -EBADMSG;
	*ret = s->p;
	s->p += n;
	s->n -= n;
	return 0;
}

static int span_copy(struct span *s, void *out, size_t n)
{
	const char *p;
	int rc = span_take(s, n, &p);

	if (!rc)
		memcpy(out, p, n);
	return rc;
}

/* Takes a whole entry, which starts with its u32 size, off s. */
static int span_entry(struct span *s, size_t least, struct span *ret)
{
	struct span entry = {};
	u32 bytes;

	if (s->n < sizeof(bytes))
		return -EBADMSG;
	memcpy(&bytes, s->p, sizeof(bytes));
	if (bytes < least || span_take(s, bytes, &entry.p))
		return -EBADMSG;
	entry.n = bytes;
	*ret = entry;
	return 0;
}

static int text_decode(struct span *s, struct arena *arena, const char **ret)
{
	const char *p, *text;
	u16 len;

	if (span_copy(s, &len, sizeof(len)) || span_take(s, len, &p))
		return -EBADMSG;
	text = arena_strndup(arena, p, len);
	if (!text)
		return -ENOMEM;
	*ret = text;
	return 0;
}

static size_t field_width(u8 type)
{
	static const u8 widths[] = {
		[FIELD_U8] = 1,
		[FIELD_U16] = 2,
		[FIELD_U32] = 4,
		[FIELD_U64] = 8,
		[FIELD_S32] = 4,
		[FIELD_S64] = 8,
		[FIELD_CHARS] = 1,
	};

	return type < ARRAY_SIZE(widths) ? widths[type] : 0;
}

/* Whoever walks the description may rely on it: every field lies in the record. */
static bool field_fits(const struct field *f, u16 size)
{
	if (f->type == FIELD_TEXT || f->type == FIELD_U32S)
		return f->count == 0 && f->offset <= size;
	return field_width(f->type) && f->count &&
	       f->offset + field_width(f->type) * f->count <= size;
}

static int field_decode(struct span *s, struct arena *arena, struct field *ret)
{
	struct log_field d;
	struct span entry;
	int rc;

	if (span_entry(s, sizeof(d), &entry) || span_copy(&entry, &d, sizeof(d)))
		return -EBADMSG;
	*ret = (struct field){
		.offset = d.offset,
		.count = d.count,
		.type = d.type,
		.unit = d.unit,
	};
	rc = text_decode(&entry, arena, &ret->name);
	return rc ? rc : text_decode(&entry, arena, &ret->help);
}

static int fields_decode(struct span *s, size_t n, struct arena *arena, struct kind *k)
{
	struct field *fields;

	/* The count may lie: memory follows the bytes that are there. */
	if (n > s->n / sizeof(struct log_field))
		return -EBADMSG;
	fields = arena_alloc(arena, n * sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	k->fields = fields;
	for (size_t i = 0; i < n; i++) {
		int rc = field_decode(s, arena, &fields[k->n_fields]);

		if (rc)
			return rc;
		if (field_fits(&fields[k->n_fields], k->size))
			k->n_fields++;
	}
	return 0;
}

static int kind_decode(struct span *s, struct arena *arena, struct schema *out)
{
	struct log_kind d;
	struct span entry;
	struct kind *k;
	int rc;

	if (span_entry(s, sizeof(d), &entry) || span_copy(&entry, &d, sizeof(d)))
		return -EBADMSG;
	k = arena_alloc(arena, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->kind = d.kind;
	k->size = d.size;
	rc = text_decode(&entry, arena, &k->name);
	if (!rc)
		rc = text_decode(&entry, arena, &k->help);
	if (!rc)
		rc = fields_decode(&entry, d.fields, arena, k);
	if (!rc)
		schema_add(out, k, 1); /* a number out of range or taken: left out */
	return rc;
}

int log_schema_decode(const void *data, size_t n, struct arena *arena, struct schema *s)
{
	struct span span = {.p = data, .n = n};
	u32 kinds;

	if (span_copy(&span, &kinds, sizeof(kinds)))
		return -EBADMSG;
	for (u32 i = 0; i < kinds; i++) {
		int rc = kind_decode(&span, arena, s);

		if (rc)
			return rc;
	}
	return 0;
}
