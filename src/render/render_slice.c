/* See render_slice.h. */
#include "render/render_slice.h"

#include <string.h>

static bool is_hidden(const struct table *t, size_t col, u16 hide)
{
	u16 flags = t->cols[col].flags;

	if (flags & hide || !(flags & COL_RARE) || !(hide & COL_HIDDEN))
		return flags & hide;
	for (size_t row = 0; row < t->n_rows; row++)
		if (table_cell(t, row, col)->type != CELL_EMPTY)
			return false;
	return true;
}

static void slice_columns(const struct report *r, u16 hide, struct slice *v)
{
	size_t n = table_select(v->t, r->fields, v->cols);

	for (size_t i = 0; i < n; i++)
		if (r->fields || !is_hidden(v->t, v->cols[i], hide))
			v->cols[v->n_cols++] = v->cols[i];
}

int slice_open(const struct report *r, const struct table *t, u16 hide, struct slice *ret)
{
	struct slice v = {.t = t, .n_rows = t->n_rows, .n_cut = t->n_cut};

	v.cols = reallocarray(NULL, t->n_cols + 1, sizeof(*v.cols));
	v.rows = reallocarray(NULL, t->n_rows + 1, sizeof(*v.rows));
	if (!v.cols || !v.rows) {
		slice_close(&v);
		return -ENOMEM;
	}
	slice_columns(r, hide, &v);
	for (size_t i = 0; i < v.n_rows; i++)
		v.rows[i] = i;
	*ret = v;
	return 0;
}

void slice_close(struct slice *v)
{
	free(v->cols);
	free(v->rows);
	*v = (struct slice){};
}

/* Rows with stacks take a screen each: where nobody said how many, the small ones are left out. */
static size_t rows_worth(const struct report *r, const struct slice *v, u16 hide)
{
	bool stacks = false;

	for (size_t i = 0; i < v->n_cols; i++)
		stacks |= slice_column(v, i)->type == CELL_STACK;
	if (!stacks || !(hide & COL_WIDE) || !r->limit || r->limited || v->t->story)
		return v->n_rows;
	return table_worth(v->t, r->sort, v->rows, v->n_rows);
}

static int slices_add(const struct report *r, const struct table *t, u16 hide, struct slices *vs)
{
	struct slice v;
	int rc = slice_open(r, t, hide, &v);
	size_t worth;

	if (rc)
		return rc;
	if (!v.n_cols) {
		slice_close(&v);
		return 0;
	}
	table_order(t, r->sort, v.rows);
	if (r->limit && v.n_rows > r->limit && (r->limited || !t->story)) {
		v.n_cut += v.n_rows - r->limit;
		v.n_rows = r->limit;
	}
	worth = rows_worth(r, &v, hide);
	v.n_cut += v.n_rows - worth;
	v.n_rows = worth;
	rc = vec_push(&vs->v, v);
	if (rc)
		slice_close(&v);
	return rc;
}

int slices_open(const struct report *r, u16 hide, struct slices *ret)
{
	struct slices vs = {};

	vec_each (t, &r->tables) {
		int rc = 0;

		if (!r->only || !strcmp(r->only, (*t)->name))
			rc = slices_add(r, *t, hide, &vs);
		if (!rc)
			continue;
		slices_close(&vs);
		return rc;
	}
	*ret = vs;
	return 0;
}

void slices_close(struct slices *vs)
{
	vec_each (v, &vs->v)
		slice_close(v);
	vec_free(&vs->v);
}
