/* See history.h. */
#include "top/history.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

static void frame_free(struct history_frame *f)
{
	free(f->packed);
	free(f->values);
}

static size_t frame_bytes(const struct history_frame *f)
{
	return f->n + f->n_values * sizeof(*f->values) + sizeof(*f);
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
			h->bytes -= frame_bytes(&h->list.v[i]);
			frame_free(&h->list.v[i]);
		}
		h->list.n = kept;
	}
	while (!h->all && drop + 1 < h->list.n &&
		(h->bytes > HISTORY_BYTES || last_ns - h->list.v[drop].end_ns > HISTORY_NS)) {
		h->bytes -= frame_bytes(&h->list.v[drop]);
		frame_free(&h->list.v[drop++]);
	}
	memmove(h->list.v, h->list.v + drop, (h->list.n - drop) * sizeof(*h->list.v));
	h->list.n -= drop;
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
		frame_free(&f);
		return rc;
	}
	memcpy(f.packed, packed, n);
	h->bytes += frame_bytes(&f);
	history_trim(h);
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

	if (frame_open(h->list.v[i].packed, h->list.v[i].n, &s))
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
		frame_free(f);
	vec_free(&h->list);
}
