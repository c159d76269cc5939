/*
 * -o csv: one table as RFC 4180 has it, with one difference: lines end as Unix tools expect,
 * without a carriage return. Control characters are escaped, so a row is always one line. A
 * spreadsheet takes what begins with = + - or @ for a formula, and names are chosen by others: text
 * that begins so has an apostrophe before it, and so has what begins with an apostrophe, so that
 * taking one off gives the text back. Numbers stay as they are.
 */
#include <string.h>

#include "render/render_cell.h"
#include "render/render_slice.h"
#include "render/renderers.h"

static void field_add(struct str *out, const char *text)
{
	if (!strpbrk(text, ",\"") && text[0] != ' ') {
		str_add(out, text);
		return;
	}
	str_addc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			str_addc(out, '"');
		str_addc(out, *text);
	}
	str_addc(out, '"');
}

static void text_add(struct str *out, const char *text)
{
	_cleanup_str_ struct str marked = {};

	if (!*text || !strchr("=+-@'", *text)) {
		field_add(out, text);
		return;
	}
	str_addc(&marked, '\'');
	str_add(&marked, text);
	out->failed |= marked.failed;
	field_add(out, str_get(&marked));
}

static void head_line(struct str *out, const struct slice *v)
{
	for (size_t i = 0; i < v->n_cols; i++) {
		if (i)
			str_addc(out, ',');
		field_add(out, slice_column(v, i)->name);
	}
	str_addc(out, '\n');
}

static void row_line(struct str *out, const struct report *r, const struct slice *v, size_t row)
{
	_cleanup_str_ struct str cell = {};

	for (size_t i = 0; i < v->n_cols; i++) {
		const struct cell *c = slice_cell(v, row, i);

		str_clear(&cell);
		cell_add_bare(&cell, r->stream, c);
		if (i)
			str_addc(out, ',');
		if (c->type == CELL_TEXT || c->type == CELL_STACK)
			text_add(out, str_get(&cell));
		else
			field_add(out, str_get(&cell));
	}
	str_addc(out, '\n');
}

static void lines_field(struct str *out, const char *const lines[FINDING_LINES])
{
	_cleanup_str_ struct str all = {};

	for (int i = 0; i < FINDING_LINES && lines[i]; i++) {
		str_add(&all, i ? "; " : "");
		str_add_escaped(&all, lines[i]);
	}
	str_addc(out, ',');
	text_add(out, str_get(&all));
}

static void text_field(struct str *out, const char *text)
{
	_cleanup_str_ struct str s = {};

	str_add_escaped(&s, text ? text : "");
	str_addc(out, ',');
	text_add(out, str_get(&s));
}

/* Findings are the rows of a report that has no others. */
static void findings_csv(const struct report *r, const struct render_options *o, struct str *out)
{
	if (!o->headless)
		str_add(out, "level,rule,title,confidence,cost_ns,why,evidence,try,undo,verify\n");
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct finding *f = &r->findings.v[i];

		str_add(out, finding_level_name(f->level));
		text_field(out, f->rule);
		text_field(out, f->title);
		text_field(out, f->confidence);
		str_addf(out, ",%llu", f->cost_ns);
		text_field(out, f->why);
		lines_field(out, f->evidence);
		lines_field(out, f->try_);
		lines_field(out, f->undo);
		lines_field(out, f->verify);
		str_addc(out, '\n');
	}
}

void csv_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct slices vs;

	if (r->has_findings && !r->tables.n) {
		findings_csv(r, o, out);
		return;
	}
	if (slices_open(r, 0, &vs)) {
		out->failed = true;
		return;
	}
	if (vs.v.n) {
		const struct slice *v = &vs.v.v[0];

		if (!o->headless)
			head_line(out, v);
		for (size_t row = 0; row < v->n_rows; row++) {
			row_line(out, r, v, row);
			render_pass(o, out);
		}
	}
	slices_close(&vs);
}

void csv_rows(const struct report *r, const struct table *t, size_t from, bool first,
	const struct render_options *o, struct str *out)
{
	struct slice v;

	(void)o;
	if (slice_open(r, t, 0, &v)) {
		out->failed = true;
		return;
	}
	if (first)
		head_line(out, &v);
	for (size_t row = from; row < v.n_rows; row++)
		row_line(out, r, &v, row);
	slice_close(&v);
}
