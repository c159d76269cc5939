/*
 * -o csv: RFC 4180 with one difference: lines end as Unix tools expect, without a carriage return.
 * Several tables are one: its first column says of which a row is, the others are all that any of
 * them has, and cells of a column that a row's table has not are empty. Control characters are
 * escaped, so a row is always one line. A spreadsheet takes what begins with = + - or @ for a
 * formula, and names are chosen by others: text that begins so has an apostrophe before it, and so
 * has what begins with an apostrophe, so that taking one off gives the text back. Numbers stay as
 * they are.
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

static void render_csv_text_add(struct str *out, const char *text)
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

/* What the lines have, whatever table their rows are of. */
struct columns {
	VEC(const char *) names;
	bool tabled; /* before them: the name of the table */
	/* Before all others: when the interval began and ended, and a comma each; NULL: not. */
	const char *when;
};

static void when_make(const struct report *r, struct str *out)
{
	struct span_text span;

	span_read(r->stream, &span);
	str_addf(out, "%s,%s,", span.start, span.end);
}

static bool columns_have(const struct columns *all, const char *name)
{
	vec_each (n, &all->names)
		if (!strcmp(*n, name))
			return true;
	return false;
}

static int columns_add(struct columns *all, const struct slice *v)
{
	int rc = 0;

	for (size_t i = 0; i < v->n_cols && !rc; i++)
		if (!columns_have(all, slice_column(v, i)->name))
			rc = vec_push(&all->names, slice_column(v, i)->name);
	return rc;
}

static void head_line(struct str *out, const struct columns *all)
{
	const char *gap = all->tabled ? "," : "";

	str_add(out, all->when ? "interval_start,interval_end," : "");
	str_add(out, all->tabled ? "table" : "");
	vec_each (n, &all->names) {
		str_add(out, gap);
		field_add(out, *n);
		gap = ",";
	}
	str_addc(out, '\n');
}

/* Of most tables it is the same place. NULL: this table has no such column. */
static const struct cell *cell_named(
	const struct slice *v, size_t row, const char *name, size_t likely)
{
	if (likely < v->n_cols && !strcmp(slice_column(v, likely)->name, name))
		return slice_cell(v, row, likely);
	for (size_t i = 0; i < v->n_cols; i++)
		if (!strcmp(slice_column(v, i)->name, name))
			return slice_cell(v, row, i);
	return NULL;
}

static void cell_line(struct str *out, const struct report *r, const struct cell *c)
{
	_cleanup_str_ struct str cell = {};

	cell_add_bare(&cell, r->stream, c);
	if (c->type == CELL_TEXT || c->type == CELL_STACK)
		render_csv_text_add(out, str_get(&cell));
	else
		field_add(out, str_get(&cell));
	out->failed |= cell.failed;
}

static void row_line(struct str *out, const struct report *r, const struct columns *all,
	const struct slice *v, size_t row)
{
	const char *gap = all->tabled ? "," : "";

	str_add(out, all->when ? all->when : "");
	str_add(out, all->tabled ? v->t->name : "");
	for (size_t i = 0; i < all->names.n; i++) {
		const struct cell *c = cell_named(v, row, all->names.v[i], i);

		str_add(out, gap);
		if (c)
			cell_line(out, r, c);
		gap = ",";
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
	render_csv_text_add(out, str_get(&all));
}

static void text_field(struct str *out, const char *text)
{
	_cleanup_str_ struct str s = {};

	str_add_escaped(&s, text ? text : "");
	str_addc(out, ',');
	render_csv_text_add(out, str_get(&s));
}

/* Findings are the rows of a report that has no others. */
static void findings_csv(const struct report *r, const struct render_options *o, struct str *out)
{
	_cleanup_str_ struct str when = {};

	if (r->repeated)
		when_make(r, &when);
	if (!o->headless)
		str_addf(out,
			"%slevel,rule,title,confidence,cost_ns,why,evidence,try,undo,verify\n",
			r->repeated ? "interval_start,interval_end," : "");
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct finding *f = &r->findings.v[i];

		str_add(out, str_get(&when));
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

static void slices_csv(const struct report *r, const struct slices *vs,
	const struct render_options *o, struct str *out)
{
	_cleanup_str_ struct str when = {};
	struct columns all = {.tabled = vs->v.n > 1};

	if (r->repeated) {
		when_make(r, &when);
		out->failed |= when.failed;
		all.when = str_get(&when);
	}
	vec_each (v, &vs->v)
		out->failed |= columns_add(&all, v) != 0;
	if (vs->v.n && !o->headless)
		head_line(out, &all);
	vec_each (v, &vs->v)
		for (size_t row = 0; row < v->n_rows; row++) {
			row_line(out, r, &all, v, row);
			render_pass(o, out);
		}
	vec_free(&all.names);
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
	slices_csv(r, &vs, o, out);
	slices_close(&vs);
}

void csv_rows(const struct report *r, const struct table *t, size_t from, bool first,
	const struct render_options *o, struct str *out)
{
	struct columns all = {};
	struct slice v;

	(void)o;
	if (slice_open(r, t, 0, &v)) {
		out->failed = true;
		return;
	}
	out->failed |= columns_add(&all, &v) != 0;
	if (first)
		head_line(out, &all);
	for (size_t row = from; row < v.n_rows; row++)
		row_line(out, r, &all, &v, row);
	vec_free(&all.names);
	slice_close(&v);
}
