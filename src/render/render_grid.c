/* The widths of the columns of a text table, and its rows. See render_text.h. */
#include <string.h>

#include "render/render_cell.h"
#include "render/render_text.h"

#define GAP 2
#define TEXT_MIN 20UL   /* columns at the right make room before a name is cut to less */
#define CGROUP_MIN 23UL /* "containerd:0123456789ab" */
#define UNLIMITED (1UL << 40)

static bool in_grid(const struct column *c, const struct render_options *o)
{
	return c->type != CELL_STACK && c->type != CELL_HIST &&
	       (o->wide || !(c->flags & COL_BELOW));
}

static int grid_init(const struct slice *v, const struct render_options *o, struct grid *ret)
{
	struct grid g = {
		.slice = v,
		.o = o,
		.how = o->wide || o->verbose ? 0 : CELL_SHORT,
	};

	g.cols = calloc(v->n_cols + 1, sizeof(*g.cols));
	if (!g.cols)
		return -ENOMEM;
	for (size_t i = 0; i < v->n_cols; i++) {
		const struct column *c = slice_column(v, i);

		if (!in_grid(c, o))
			continue;
		g.cols[g.n++] = (struct grid_column){
			.col = c,
			.slice_col = i,
			.right = c->type != CELL_TEXT && c->type != CELL_BOOL,
		};
	}
	*ret = g;
	return 0;
}

void grid_close(struct grid *g)
{
	free(g->cols);
	*g = (struct grid){};
}

/* May the column stick out to the right? */
static bool render_grid_is_whole(const struct grid *g, size_t i)
{
	return i + 1 == g->n && g->cols[i].col->flags & COL_WHOLE;
}

static void grid_measure(struct grid *g)
{
	_cleanup_str_ struct str cell = {};

	for (size_t i = 0; i < g->n; i++) {
		struct grid_column *c = &g->cols[i];
		size_t head = text_width(c->col->title), wide = head;

		for (size_t row = 0; row < g->slice->n_rows; row++) {
			str_clear(&cell);
			cell_add(&cell, c->col, slice_cell(g->slice, row, c->slice_col), g->how);
			wide = MAX(wide, text_width(str_get(&cell)));
		}
		c->natural = render_grid_is_whole(g, i) ? head : wide;
		c->min = c->natural;
		if (c->col->type == CELL_TEXT) {
			c->min = c->col->unit == UNIT_CGROUP ? CGROUP_MIN : TEXT_MIN;
			c->min = MAX(c->min, head);
			c->min = MIN(c->min, c->natural);
		}
	}
}

static size_t grid_width(const struct grid *g)
{
	size_t sum = 0;

	for (size_t i = 0; i < g->n; i++)
		sum += g->cols[i].width + (i ? GAP : 0);
	return sum;
}

/* The widest column that can be cut, NULL when there is none. */
static struct grid_column *grid_widest(struct grid *g)
{
	struct grid_column *widest = NULL;

	for (size_t i = 0; i < g->n; i++) {
		struct grid_column *c = &g->cols[i];

		if (c->width > c->min && (!widest || c->width > widest->width))
			widest = c;
	}
	return widest;
}

static bool grid_fit(struct grid *g, size_t width)
{
	struct grid_column *c;
	size_t sum;

	for (size_t i = 0; i < g->n; i++)
		g->cols[i].width = g->cols[i].natural;
	for (sum = grid_width(g); sum > width; sum--) {
		c = grid_widest(g);
		if (!c)
			return false;
		c->width--;
	}
	return true;
}

/* Has no row of the slice a value in it? */
static bool is_unknown(const struct grid *g, size_t i)
{
	for (size_t row = 0; row < g->slice->n_rows; row++)
		if (slice_cell(g->slice, row, g->cols[i].slice_col)->type != CELL_EMPTY)
			return false;
	return true;
}

/* What the table is for: what its rows are of, weighed and sorted by. */
static bool is_main(const struct grid *g, size_t i)
{
	const struct column *c = g->cols[i].col;
	const char *sort = g->slice->t->sort;

	return !i || c->flags & (COL_MAIN | COL_WEIGHT) ||
	       (sort && !strcmp(c->name, sort + (*sort == '-')));
}

/* The column that is missed least: a lesser one, else any but the main ones; the rightmost. */
static size_t grid_least(const struct grid *g)
{
	for (size_t i = g->n; i-- > 1;)
		if (g->cols[i].col->flags & COL_LESSER && !is_main(g, i))
			return i;
	for (size_t i = g->n; i-- > 1;)
		if (!is_main(g, i))
			return i;
	return g->n - 1;
}

static void grid_put_away(struct grid *g, size_t i)
{
	struct grid_column gone = g->cols[i];

	memmove(&g->cols[i], &g->cols[i + 1], (g->n - i - 1) * sizeof(*g->cols));
	g->cols[--g->n] = gone;
	g->n_dropped++;
}

/* There is no room for all. The rightmost column that says nothing goes, or else the least. */
static void grid_drop(struct grid *g)
{
	for (size_t i = g->n; i-- > 1;)
		if (is_unknown(g, i)) {
			memmove(&g->cols[i], &g->cols[i + 1],
				(g->n + g->n_dropped - i - 1) * sizeof(*g->cols));
			g->n--;
			return;
		}
	grid_put_away(g, grid_least(g));
}

int grid_open(const struct slice *v, const struct render_options *o, struct grid *ret)
{
	size_t width = o->wide ? UNLIMITED : line_width(o);
	struct grid g;
	int rc = grid_init(v, o, &g);

	if (rc)
		return rc;
	grid_measure(&g);
	if (!grid_fit(&g, width)) {
		g.how |= CELL_COMPACT;
		grid_measure(&g);
	}
	while (!grid_fit(&g, width) && g.n > 1)
		grid_drop(&g);
	*ret = g;
	return 0;
}

static size_t fixed_width(const struct column *c)
{
	if (c->type == CELL_TEXT)
		return strcmp(c->name, "comm") ? 32 : COMM_LEN;
	switch (c->unit) {
	case UNIT_BYTES: /* 1023 KiB */
	case UNIT_NS:    /* 1.25 us */
	case UNIT_RATIO: /* 100.0 % */
		return 8;
	case UNIT_COUNT:
	case UNIT_PAGES:
		return 10;
	case UNIT_HEX:
		return 18;
	default: /* a pid */
		return 7;
	}
}

int grid_open_fixed(const struct slice *v, const struct render_options *o, struct grid *ret)
{
	size_t width = o->wide ? UNLIMITED : line_width(o);
	struct grid g;
	int rc = grid_init(v, o, &g);

	if (rc)
		return rc;
	for (size_t i = 0; i < g.n; i++) {
		struct grid_column *c = &g.cols[i];
		size_t head = text_width(c->col->title);
		bool rest = i + 1 == g.n && c->col->type == CELL_TEXT;

		c->natural = MAX(head, render_grid_is_whole(&g, i) ? 0
				       : rest                      ? line_width(o)
								   : fixed_width(c->col));
		c->min = c->col->type == CELL_TEXT ? MAX(head, TEXT_MIN) : c->natural;
	}
	while (!grid_fit(&g, width) && g.n > 1)
		grid_put_away(&g, grid_least(&g));
	*ret = g;
	return 0;
}

/* The text of one cell in its place; nothing is padded at the end of a line. */
static void render_grid_place_add(struct str *out, const struct grid *g, size_t i, const char *text)
{
	const struct grid_column *c = &g->cols[i];
	size_t wide = text_width(text), pad = wide < c->width ? c->width - wide : 0;

	if (i)
		pad_add(out, GAP);
	if (c->right)
		pad_add(out, pad);
	if (c->col->type == CELL_TEXT && !g->o->wide && !render_grid_is_whole(g, i))
		shrink_add(out, text, c->width);
	else
		str_add(out, text);
	if (!c->right && i + 1 < g->n)
		pad_add(out, pad);
}

void grid_head_add(struct str *out, const struct grid *g)
{
	for (size_t i = 0; i < g->n; i++)
		render_grid_place_add(out, g, i, g->cols[i].col->title);
	str_addc(out, '\n');
}

void grid_row_add(struct str *out, const struct grid *g, size_t row)
{
	_cleanup_str_ struct str cell = {};

	for (size_t i = 0; i < g->n; i++) {
		const struct grid_column *c = &g->cols[i];

		str_clear(&cell);
		cell_add(&cell, c->col, slice_cell(g->slice, row, c->slice_col), g->how);
		render_grid_place_add(out, g, i, str_get(&cell));
	}
	str_addc(out, '\n');
}
