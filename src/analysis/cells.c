/* See cells.h. */
#include "analysis/cells.h"

#include <errno.h>

#define CELL_OF(name_, from_, type_, make_)                                        \
	CELL_GET(name_)                                                            \
	{                                                                          \
		return make_(*(const type_ *)((const char *)row->from_ + offset)); \
	}
CELL_OF(cell_of_u8, sums, u8, cell_u64)
CELL_OF(cell_of_u16, sums, u16, cell_u64)
CELL_OF(cell_of_u32, sums, u32, cell_u64)
CELL_OF(cell_of_u64, sums, u64, cell_u64)
CELL_OF(cell_of_s32, sums, s32, cell_s64)
CELL_OF(cell_of_s64, sums, s64, cell_s64)
CELL_OF(cell_of_key_u8, key, u8, cell_u64)
CELL_OF(cell_of_key_u16, key, u16, cell_u64)
CELL_OF(cell_of_key_u32, key, u32, cell_u64)
CELL_OF(cell_of_key_u64, key, u64, cell_u64)
CELL_OF(cell_of_node, key, s32, cell_node)
CELL_OF(cell_of_stack, sums, u32, cell_stack)
CELL_OF(cell_of_text, sums, char *, cell_text)

CELL_GET(cell_of_known)
{
	u64 v = *(const u64 *)((const char *)row->sums + offset);

	return v ? cell_u64(v) : (struct cell){};
}

CELL_GET(cell_of_string)
{
	u32 id = *(const u32 *)((const char *)row->sums + offset);

	return id ? cell_text(stream_string(r->stream, id)) : (struct cell){};
}

struct cell cell_str(struct report *r, const struct str *s)
{
	return s->len ? cell_text(report_text(r, "%s", str_get(s))) : (struct cell){};
}

CELL_GET(cell_of_comm)
{
	return cell_text(report_textn(r, (const char *)row->sums + offset, COMM_LEN));
}

CELL_GET(cell_of_cgroup)
{
	return cell_text(
		stream_cgroup(r->stream, *(const u64 *)((const char *)row->sums + offset)));
}

CELL_GET(cell_of_time)
{
	return cell_since(r, *(const u64 *)((const char *)row->sums + offset));
}

static bool cells_is_left_out(const struct cell_column *c, u32 by)
{
	return by && c->keys && !(c->keys & by);
}

struct table *cells_table_by(struct report *r, const char *name, const char *title,
	const struct cell_column *cols, size_t n, u32 by)
{
	struct column *all = arena_alloc(&r->arena, n * sizeof(*all));
	size_t k = 0;

	for (size_t i = 0; i < n && all; i++)
		if (!cells_is_left_out(&cols[i], by))
			all[k++] = cols[i].col;
	return all ? report_table(r, name, title, all, k) : NULL;
}

struct table *cells_table(struct report *r, const char *name, const char *title,
	const struct cell_column *cols, size_t n)
{
	return cells_table_by(r, name, title, cols, n, 0);
}

int cells_row(struct table *t, struct report *r, const struct cell_column *cols, size_t n,
	const struct row_of *row)
{
	struct cell *cell = t ? table_row(t) : NULL;

	if (!cell)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!cells_is_left_out(&cols[i], row->by))
			*cell++ = cols[i].get(r, row, cols[i].offset);
	return 0;
}

int cells_report(
	struct report *r, const struct cell_table *t, const struct groups *g, const void *view)
{
	struct table *table = cells_table(r, t->name, t->title, t->cols, t->n_cols);
	int rc = table ? 0 : -ENOMEM;

	for (size_t i = 0; i < g->n && !rc; i++) {
		const struct row_of row = {0, groups_key(g, i), groups_value(g, i), view};

		if (!t->shows || t->shows(&row))
			rc = cells_row(table, r, t->cols, t->n_cols, &row);
	}
	if (table) {
		table->sort = t->sort;
		table->empty = t->empty;
	}
	return rc;
}
