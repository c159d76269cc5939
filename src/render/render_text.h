/* The parts of the text format, one file each: header, findings, tables. Each writes whole lines
 * and begins with an empty one where it is not the first on the screen. */
#ifndef MEMWHY_RENDER_TEXT_H
#define MEMWHY_RENDER_TEXT_H

#include "render/render.h"
#include "render/render_prose.h"
#include "render/render_slice.h"

/* The grid: the columns of a table that stand side by side (all but stacks and histograms). */
struct grid_column {
	const struct column *col;
	size_t slice_col; /* index in the slice */
	size_t natural;   /* width it would like */
	size_t min;       /* width it can be cut down to */
	size_t width;     /* width it gets */
	bool right;
};

struct grid {
	const struct slice *slice;
	const struct render_options *o;
	struct grid_column *cols;
	size_t n;
	size_t n_dropped; /* columns that did not fit, behind the others */
	u32 how;          /* enum cell_how */
};

/* Widths that fit the rows of the slice. 0 or -ENOMEM. */
int grid_open(const struct slice *v, const struct render_options *o, struct grid *ret);
/* Widths that depend on the columns only, for rows that are not known yet. */
int grid_open_fixed(const struct slice *v, const struct render_options *o, struct grid *ret);
void grid_close(struct grid *g);
void grid_head_add(struct str *out, const struct grid *g);
void grid_row_add(struct str *out, const struct grid *g, size_t row);

/* The frames of a stack, a line each. */
void stack_text_add(struct str *out, const struct report *r, const struct table *t, u32 stack,
	const struct render_options *o);

/* Command, host, interval, scope, events, cost, losses and damage. */
void header_add(struct str *out, const struct report *r, const struct render_options *o);
/* The part of it that is only known at the end. */
void header_add_totals(struct str *out, const struct report *r, const struct render_options *o);
/* Verdict and findings. */
void findings_add(struct str *out, const struct report *r, const struct render_options *o);
/* NOT CHECKED and NEXT. */
void findings_add_outlook(struct str *out, const struct report *r, const struct render_options *o);
/* One table. `titled`: with its title. */
void table_add(struct str *out, const struct report *r, const struct slice *v, bool titled,
	const struct render_options *o);
/* The rows of a table from `from` on, laid out without knowing them. */
void table_add_rows(struct str *out, const struct report *r, const struct table *t, size_t from,
	bool first, const struct render_options *o);

#endif
