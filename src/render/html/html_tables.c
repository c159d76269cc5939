/* The first rows of each table as plain markup, for browsers that run no script, and for printing
 * from them. See html.h. */
#include "render/html/html.h"
#include "render/render_cell.h"
#include "render/render_slice.h"

#define ROWS 30 /* of a table: the rest needs a script to be looked through */

static bool html_tables_is_number(const struct column *c)
{
	return c->type == CELL_U64 || c->type == CELL_S64 || c->type == CELL_F64;
}

static void heads_add(struct str *out, const struct slice *v)
{
	str_add(out, "<thead><tr>");
	for (size_t i = 0; i < v->n_cols; i++)
		html_add_element(out, "th", html_tables_is_number(slice_column(v, i)) ? "n" : NULL,
			slice_column(v, i)->title);
	str_add(out, "</tr></thead>");
}

static void html_tables_frame_add(void *arg, const char *text)
{
	html_add_element(arg, "div", NULL, text);
}

static void cell_html(
	struct str *out, const struct report *r, const struct slice *v, size_t row, size_t col)
{
	const struct cell *cell = slice_cell(v, row, col);
	const struct column *c = slice_column(v, col);
	_cleanup_str_ struct str text = {};

	if (cell->type == CELL_STACK) {
		str_add(out, "<td class=\"stack\">");
		stack_lines(r->stream, cell->stack, false, html_tables_frame_add, out);
		str_add(out, "</td>");
		return;
	}
	if (cell->type == CELL_HIST)
		cell_add_bare(&text, r->stream, cell);
	else
		cell_add(&text, c, cell, CELL_SHORT);
	out->failed |= text.failed;
	html_add_element(out, "td", html_tables_is_number(c) ? "n" : NULL, str_get(&text));
}

static void table_html(struct str *out, const struct report *r, const struct slice *v)
{
	size_t n = MIN(v->n_rows, (size_t)ROWS);

	if (!n && !v->t->empty)
		return;
	if (v->t->title)
		html_add_element(out, "h2", NULL, v->t->title);
	if (!n) {
		html_add_element(out, "p", NULL, v->t->empty);
		return;
	}
	str_add(out, "<div class=\"scroll\"><table>");
	heads_add(out, v);
	str_add(out, "<tbody>");
	for (size_t row = 0; row < n; row++) {
		str_add(out, "<tr>");
		for (size_t col = 0; col < v->n_cols; col++)
			cell_html(out, r, v, row, col);
		str_add(out, "</tr>\n");
	}
	str_add(out, "</tbody></table></div>\n");
	if (v->n_rows + v->n_cut > n)
		str_addf(out,
			"<p>%zu more rows: they are shown where the browser runs this page's "
			"script.</p>\n",
			v->n_rows + v->n_cut - n);
}

void html_add_tables(struct str *out, const struct report *r)
{
	struct slices vs;

	if (slices_open(r, COL_HIDDEN | COL_WIDE, &vs)) {
		out->failed = true;
		return;
	}
	str_add(out, "<noscript>\n");
	vec_each (v, &vs.v)
		table_html(out, r, v);
	str_add(out, "</noscript>\n");
	slices_close(&vs);
}
