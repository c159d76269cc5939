/*
 * What of a report is to be drawn: the chosen tables, their chosen columns, and their rows in
 * order. All formats draw views, so that --fields, --sort, --limit and --table mean the same
 * everywhere.
 */
#ifndef MEMWHY_RENDER_VIEW_H
#define MEMWHY_RENDER_VIEW_H

#include "report/report.h"

struct view {
	const struct table *t;
	size_t *cols; /* indices of columns, in the order they are shown */
	size_t n_cols;
	size_t *rows; /* indices of rows, in the order they are shown */
	size_t n_rows;
	size_t n_cut; /* rows not shown because of --limit */
};

struct views {
	VEC(struct view) v;
};

/* The tables of the report that have any of the chosen columns. Columns with one of the flags in
 * `hide` are left out unless --fields names them. 0 or -ENOMEM (nothing to close then). */
int views_open(const struct report *r, u16 hide, struct views *ret);
void views_close(struct views *vs);
/* One table with all its rows as they were filled. */
int view_open(const struct report *r, const struct table *t, u16 hide, struct view *ret);
void view_close(struct view *v);

static inline const struct column *view_column(const struct view *v, size_t i)
{
	return &v->t->cols[v->cols[i]];
}

static inline const struct cell *view_cell(const struct view *v, size_t row, size_t i)
{
	return table_cell(v->t, v->rows[row], v->cols[i]);
}

#endif
