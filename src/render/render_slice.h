/*
 * What of a report is to be drawn: the chosen tables, their chosen columns, and their rows in
 * order. All formats draw slices, so that --fields, --sort, --limit and --table mean the same
 * everywhere.
 */
#ifndef MEMWHY_RENDER_SLICE_H
#define MEMWHY_RENDER_SLICE_H

#include "report/report.h"

struct slice {
	const struct table *t;
	size_t *cols; /* indices of columns, in the order they are shown */
	size_t n_cols;
	size_t *rows; /* indices of rows, in the order they are shown */
	size_t n_rows;
	size_t n_cut; /* rows not shown because of --limit */
};

struct slices {
	VEC(struct slice) v;
};

/* The tables of the report that have any of the chosen columns. Columns with one of the flags in
 * `hide` are left out unless --fields names them. 0 or -ENOMEM (nothing to close then). */
int slices_open(const struct report *r, u16 hide, struct slices *ret);
void slices_close(struct slices *vs);
/* One table with all its rows as they were filled. */
int slice_open(const struct report *r, const struct table *t, u16 hide, struct slice *ret);
void slice_close(struct slice *v);

static inline const struct column *slice_column(const struct slice *v, size_t i)
{
	return &v->t->cols[v->cols[i]];
}

static inline const struct cell *slice_cell(const struct slice *v, size_t row, size_t i)
{
	return table_cell(v->t, v->rows[row], v->cols[i]);
}

#endif
