/* See history.h. */
#include "top/history.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/unlinked.h"

/* Of eight intervals each looks like the one before, which the hashes have to reach back to. */
#define HASH_LOG 17
#define WINDOW_LOG 21

static size_t frame_bytes(const struct history_frame *f)
{
	return (f->packed ? f->n : 0) + f->n_values * sizeof(*f->values) + sizeof(*f);
}

static size_t block_bytes(const struct history_block *b)
{
	return sizeof(*b) + b->n;
}

static void frame_drop(struct history *h, struct history_frame *f)
{
	h->bytes -= frame_bytes(f);
	if (f->block && !--f->block->refs) {
		h->bytes -= block_bytes(f->block);
		free(f->block);
	}
	free(f->packed);
	free(f->values);
}

int history_open(const struct history *h, size_t i, struct scene *ret)
{
	const struct history_frame *f = &h->list.v[i];
	_cleanup_free_ char *bytes = NULL;
	size_t n;
	int rc;

	if (!f->block)
		return frame_open(f->packed, f->n, ret);
	rc = frame_unpack(f->block->packed, f->block->n, &bytes, &n);
	return rc ? rc : f->at + f->n > n ? -EBADMSG : frame_read(bytes + f->at, f->n, ret);
}

static struct history_block *block_pack(const struct str *bytes)
{
	_cleanup_free_ struct history_block *b = NULL;
	size_t room = ZSTD_compressBound(bytes->len), n = 0;
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct history_block *fits;

	b = malloc(sizeof(*b) + room);
	if (z && b &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, HASH_LOG)) &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, WINDOW_LOG)))
		n = ZSTD_compress2(z, b->packed, room, bytes->buf, bytes->len);
	ZSTD_freeCCtx(z);
	if (!n || ZSTD_isError(n))
		return NULL;
	b->refs = HISTORY_TOGETHER;
	b->n = n;
	fits = realloc(b, sizeof(*b) + n);
	if (fits)
		b = fits;
	return take_ptr(b);
}

/* The oldest of those that are packed alone become a block; where memory is short they stay. */
static void history_pack(struct history *h)
{
	struct history_frame *first = &h->list.v[h->together];
	size_t sizes[HISTORY_TOGETHER], at = 0;
	_cleanup_str_ struct str bytes = {};
	struct history_block *b;

	for (size_t i = 0; i < HISTORY_TOGETHER; i++) {
		_cleanup_free_ char *one = NULL;

		if (frame_unpack(first[i].packed, first[i].n, &one, &sizes[i]))
			return;
		str_addn(&bytes, one, sizes[i]);
	}
	b = bytes.failed || bytes.len > FRAME_OPEN ? NULL : block_pack(&bytes);
	if (!b)
		return;
	h->bytes += block_bytes(b);
	for (size_t i = 0; i < HISTORY_TOGETHER; i++) {
		h->bytes -= first[i].n;
		free(take_ptr(first[i].packed));
		first[i].block = b;
		first[i].at = at;
		first[i].n = sizes[i];
		at += sizes[i];
	}
	h->together += HISTORY_TOGETHER;
}

static int value_compare(const void *a, const void *b)
{
	const struct history_value *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

double history_number(const struct cell *c)
{
	return c->type == CELL_U64   ? (double)c->u
	       : c->type == CELL_S64 ? (double)c->s
	       : c->type == CELL_F64 ? c->f
				     : NAN;
}

u32 history_key(const struct table *t, size_t row)
{
	const struct cell *c = table_cell(t, row, 0); /* of each table that has lines */

	return c->type == CELL_TEXT ? (u32)XXH3_64bits(c->text, strlen(c->text)) : (u32)c->u;
}

static int values_take(
	struct history_frame *f, const struct scene *s, enum top_table which, size_t column)
{
	const struct table *t = &s->tables[which];
	struct history_value *values = calloc(t->n_rows + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	free(f->values);
	f->values = values;
	f->which = which;
	f->column = column;
	f->n_values = 0;
	for (size_t i = 0; i < t->n_rows; i++) {
		double v = history_number(table_cell(t, i, column));

		if (!isnan(v))
			values[f->n_values++] = (struct history_value){history_key(t, i), (float)v};
	}
	if (f->n_values)
		qsort(values, f->n_values, sizeof(*values), value_compare);
	return 0;
}

/* The beginning goes where it is too old or there is too much; of a recording every second one. */
static void history_trim(struct history *h)
{
	size_t drop = 0, kept = 0;
	u64 last_ns = h->list.v[h->list.n - 1].end_ns;

	if (h->all && h->bytes > 4UL * HISTORY_BYTES) {
		for (size_t i = 0; i < h->list.n; i++) {
			if (i % 2 == 0 || i + 1 == h->list.n) {
				h->list.v[kept++] = h->list.v[i];
				continue;
			}
			frame_drop(h, &h->list.v[i]);
		}
		h->list.n = kept;
	}
	while (!h->all && drop + 1 < h->list.n &&
		(h->bytes > HISTORY_BYTES || last_ns - h->list.v[drop].end_ns > HISTORY_NS))
		frame_drop(h, &h->list.v[drop++]);
	memmove(h->list.v, h->list.v + drop, (h->list.n - drop) * sizeof(*h->list.v));
	h->list.n -= drop;
	h->together -= MIN(drop, h->together);
	h->gone += drop;
}

int history_add(struct history *h, const void *packed, size_t n, const struct scene *s)
{
	struct history_frame f = {.n = n, .end_ns = s->end_ns, .wall_ns = s->wall_ns};
	int rc;

	f.packed = malloc(n);
	rc = f.packed ? values_take(&f, s, TOP_PROCESSES, TOP_RSS) : -ENOMEM;
	vec_each (finding, &s->findings)
		f.rules |= 1ULL << (XXH3_64bits(finding->rule, strlen(finding->rule)) & 63);
	rc = rc ? rc : vec_push(&h->list, f);
	if (rc) {
		free(f.packed);
		free(f.values);
		return rc;
	}
	memcpy(f.packed, packed, n);
	h->bytes += frame_bytes(&f);
	history_trim(h);
	if (!h->all && h->list.n - h->together >= HISTORY_ALONE + HISTORY_TOGETHER)
		history_pack(h);
	return 0;
}

static bool column_is(const struct history_frame *f, enum top_table which, size_t column)
{
	return f->which == which && f->column == column;
}

void history_column(
	struct history *h, size_t i, const struct scene *s, enum top_table which, size_t column)
{
	struct history_frame *f = i < h->list.n ? &h->list.v[i] : NULL;

	if (!f || f->end_ns != s->end_ns || column_is(f, which, column))
		return;
	h->bytes -= frame_bytes(f);
	values_take(f, s, which, column);
	h->bytes += frame_bytes(f);
}

/* Of another column than the frame's values are of: it is opened once more. */
static void column_read(struct history *h, size_t i, enum top_table which, size_t column)
{
	struct scene s;

	if (history_open(h, i, &s))
		return;
	history_column(h, i, &s, which, column);
	scene_free(&s);
}

double history_value(struct history *h, size_t i, enum top_table which, u32 key, size_t column)
{
	const struct history_value wanted = {.key = key}, *found;
	const struct history_frame *f = i < h->list.n ? &h->list.v[i] : NULL;

	if (f && !column_is(f, which, column))
		column_read(h, i, which, column);
	if (!f || !column_is(f, which, column) || !f->n_values)
		return NAN;
	found = bsearch(&wanted, f->values, f->n_values, sizeof(wanted), value_compare);
	return found ? (double)found->value : NAN;
}

size_t history_find(const struct history *h, u64 end_ns)
{
	size_t i = 0;

	while (i + 1 < h->list.n && h->list.v[i].end_ns < end_ns)
		i++;
	return i;
}

size_t history_next_finding(const struct history *h, size_t at, int step)
{
	for (size_t i = at + (size_t)step; i < h->list.n; i += (size_t)step) {
		u64 before = i ? h->list.v[i - 1].rules : 0;

		if (h->list.v[i].rules & ~before)
			return i;
	}
	return at;
}

void history_free(struct history *h)
{
	vec_each (f, &h->list)
		frame_drop(h, f);
	vec_free(&h->list);
}
