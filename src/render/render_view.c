/* See render_view.h. */
#include "render/render_view.h"

#include <string.h>

static void view_columns(const struct report *r, u16 hide, struct view *v)
{
	size_t n = table_select(v->t, r->fields, v->cols);

	for (size_t i = 0; i < n; i++)
		if (r->fields || !(v->t->cols[v->cols[i]].flags & hide))
			v->cols[v->n_cols++] = v->cols[i];
}

int view_open(const struct report *r, const struct table *t, u16 hide, struct view *ret)
{
	struct view v = {.t = t, .n_rows = t->n_rows, .n_cut = t->n_cut};

	v.cols = reallocarray(NULL, t->n_cols + 1, sizeof(*v.cols));
	v.rows = reallocarray(NULL, t->n_rows + 1, sizeof(*v.rows));
	if (!v.cols || !v.rows) {
		view_close(&v);
		return -ENOMEM;
	}
	view_columns(r, hide, &v);
	for (size_t i = 0; i < v.n_rows; i++)
		v.rows[i] = i;
	*ret = v;
	return 0;
}

void view_close(struct view *v)
{
	free(v->cols);
	free(v->rows);
	*v = (struct view){};
}

static int views_add(const struct report *r, const struct table *t, u16 hide, struct views *vs)
{
	struct view v;
	int rc = view_open(r, t, hide, &v);

	if (rc)
		return rc;
	if (!v.n_cols) {
		view_close(&v);
		return 0;
	}
	table_order(t, r->sort, v.rows);
	if (r->limit && v.n_rows > r->limit) {
		v.n_cut += v.n_rows - r->limit;
		v.n_rows = r->limit;
	}
	rc = vec_push(&vs->v, v);
	if (rc)
		view_close(&v);
	return rc;
}

int views_open(const struct report *r, u16 hide, struct views *ret)
{
	struct views vs = {};

	vec_each(t, &r->tables) {
		int rc = 0;

		if (!r->only || !strcmp(r->only, (*t)->name))
			rc = views_add(r, *t, hide, &vs);
		if (!rc)
			continue;
		views_close(&vs);
		return rc;
	}
	*ret = vs;
	return 0;
}

void views_close(struct views *vs)
{
	vec_each(v, &vs->v)
		view_close(v);
	vec_free(&vs->v);
}
