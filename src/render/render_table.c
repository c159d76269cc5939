/* A table as text: its grid, and what stands below its rows. See render_text.h. */
#include <string.h>

#include "base/units.h"
#include "render/render_cell.h"
#include "render/render_text.h"

#define INDENT 4
#define BAR_MAX 40

/* A bar of n of max in eighths of a column. */
static void bar_add(struct str *out, u64 n, u64 max, size_t width)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	size_t parts = (size_t)((double)n / (double)max * (double)width * 8 + 0.5);

	if (n && !parts)
		parts = 1;
	for (size_t i = 0; i < parts / 8; i++)
		str_add(out, "█");
	str_add(out, eighths[parts % 8]);
}

static void right_add(struct str *out, const char *text, size_t width)
{
	size_t wide = text_width(text);

	pad_add(out, wide < width ? width - wide : 0);
	str_add(out, text);
}

struct hist_rows {
	size_t first, last; /* slots */
	u64 max;
	size_t bound_width, count_width;
};

static bool hist_measure(const struct hist_cell *h, u8 unit, struct hist_rows *ret)
{
	_cleanup_str_ struct str text = {};
	struct hist_rows rows = {.first = HIST_SLOTS};

	for (size_t i = 0; i < HIST_SLOTS; i++) {
		if (!h->slots[i])
			continue;
		rows.first = MIN(rows.first, i);
		rows.last = i;
		rows.max = MAX(rows.max, h->slots[i]);
	}
	for (size_t i = rows.first; i <= rows.last + 1; i++) {
		str_clear(&text);
		number_add(&text, unit, hist_bound(i));
		rows.bound_width = MAX(rows.bound_width, text_width(str_get(&text)));
	}
	str_clear(&text);
	count_add(&text, rows.max);
	rows.count_width = text_width(str_get(&text));
	*ret = rows;
	return rows.max;
}

static void bounds_add(struct str *out, size_t slot, u8 unit, size_t width)
{
	_cleanup_str_ struct str from = {}, to = {};

	number_add(&from, unit, hist_bound(slot));
	number_add(&to, unit, hist_bound(slot + 1));
	right_add(out, str_get(&from), width);
	str_add(out, slot + 1 < HIST_SLOTS ? " .. " : " or ");
	right_add(out, slot + 1 < HIST_SLOTS ? str_get(&to) : "more", width);
}

static void hist_add(struct str *out, const struct column *c, const struct hist_cell *h,
	const struct render_options *o)
{
	struct hist_rows rows;
	size_t used, bar;

	if (!hist_measure(h, c->unit, &rows))
		return;
	used = INDENT + 2 * rows.bound_width + 4 + 2 + rows.count_width + 2;
	bar = used + BAR_MAX < prose_width(o) ? BAR_MAX
					      : prose_width(o) - MIN(used, prose_width(o));
	str_addf(out, "%*s%s\n", INDENT, "", c->title);
	for (size_t i = rows.first; i <= rows.last; i++) {
		_cleanup_str_ struct str count = {};

		count_add(&count, h->slots[i]);
		pad_add(out, INDENT);
		bounds_add(out, i, c->unit, rows.bound_width);
		pad_add(out, 2);
		right_add(out, str_get(&count), rows.count_width);
		if (h->slots[i] && bar) {
			pad_add(out, 2);
			bar_add(out, h->slots[i], rows.max, bar);
		}
		str_addc(out, '\n');
	}
}

static size_t count_columns(const struct slice *v, u8 type)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_cols; i++)
		n += slice_column(v, i)->type == type;
	return n;
}

static void sentence_add(struct str *out, const struct column *c, const struct cell *cell,
	const struct render_options *o)
{
	_cleanup_str_ struct str text = {};

	cell_add(&text, c, cell, 0);
	pad_add(out, INDENT);
	wrap_add(out, str_get(&text), INDENT, INDENT + 2, prose_width(o));
}

/* What stands below a row. */
static void below_add(struct str *out, const struct report *r, const struct slice *v, size_t row,
	const struct render_options *o)
{
	bool label = count_columns(v, CELL_STACK) > 1;

	for (size_t i = 0; i < v->n_cols; i++) {
		const struct cell *cell = slice_cell(v, row, i);

		if (cell->type == CELL_HIST)
			hist_add(out, slice_column(v, i), cell->hist, o);
		if (cell->type == CELL_TEXT && slice_column(v, i)->flags & COL_BELOW && !o->wide)
			sentence_add(out, slice_column(v, i), cell, o);
		if (cell->type != CELL_STACK)
			continue;
		if (label)
			str_addf(out, "  %s\n", slice_column(v, i)->title);
		stack_text_add(out, r, v->t, cell->stack, o);
	}
}

static void render_table_row_add(struct str *out, const struct report *r, const struct grid *g,
	size_t row, const struct render_options *o)
{
	if (g->n)
		grid_row_add(out, g, row);
	below_add(out, r, g->slice, row, o);
}

static void dropped_add(struct str *out, const struct grid *g)
{
	_cleanup_str_ struct str t = {};

	if (!g->n_dropped)
		return;
	str_add(&t, "… no room for");
	for (size_t i = 0; i < g->n_dropped; i++)
		str_addf(&t, "%s %s", i ? "," : "", g->cols[g->n + i].col->title);
	str_add(&t, "; -o wide shows all");
	wrap_add(out, str_get(&t), 0, 2, prose_width(g->o));
}

static void help_add(struct str *out, const struct slice *v, const struct render_options *o)
{
	size_t wide = 0;

	for (size_t i = 0; i < v->n_cols; i++)
		wide = MAX(wide, text_width(slice_column(v, i)->title));
	for (size_t i = 0; i < v->n_cols; i++) {
		const struct column *c = slice_column(v, i);

		if (!c->help)
			continue;
		pad_add(out, 2);
		str_add(out, c->title);
		pad_add(out, wide - text_width(c->title) + 2);
		wrap_add(out, c->help, wide + 4, wide + 4, prose_width(o));
	}
}

static void render_table_rows_add(struct str *out, const struct report *r, const struct slice *v,
	const struct render_options *o)
{
	bool airy = count_columns(v, CELL_STACK) || count_columns(v, CELL_HIST);
	struct grid g;

	if (grid_open(v, o, &g)) {
		out->failed = true;
		return;
	}
	if (g.n)
		grid_head_add(out, &g);
	for (size_t row = 0; row < v->n_rows; row++) {
		if (row && airy)
			str_addc(out, '\n');
		render_table_row_add(out, r, &g, row, o);
	}
	if (v->n_cut)
		str_addf(
			out, "… %zu more row%s; --limit 0 shows all\n", v->n_cut, plural(v->n_cut));
	dropped_add(out, &g);
	grid_close(&g);
}

void table_add(struct str *out, const struct report *r, const struct slice *v, bool titled,
	const struct render_options *o)
{
	if (!v->n_rows && !v->t->empty)
		return;
	if (out->len)
		str_addc(out, '\n');
	if (titled && v->t->title)
		wrap_add_styled(out, v->t->title, 0, 0, o, STYLE_BOLD);
	if (!v->n_rows) {
		wrap_add(out, v->t->empty, 0, 0, prose_width(o));
		return;
	}
	render_table_rows_add(out, r, v, o);
	if (o->verbose)
		help_add(out, v, o);
}

void table_add_rows(struct str *out, const struct report *r, const struct table *t, size_t from,
	bool first, const struct render_options *o)
{
	u16 hide = o->wide ? COL_HIDDEN : COL_HIDDEN | COL_WIDE;
	struct slice v;
	struct grid g;

	if (slice_open(r, t, hide, &v)) {
		out->failed = true;
		return;
	}
	if (grid_open_fixed(&v, o, &g)) {
		out->failed = true;
		slice_close(&v);
		return;
	}
	if (first && g.n)
		grid_head_add(out, &g);
	for (size_t row = from; row < v.n_rows; row++)
		render_table_row_add(out, r, &g, row, o);
	grid_close(&g);
	slice_close(&v);
}
