/* The format for people: -o text, and -o wide without limits of width. */
#include "render/render_text.h"

#include "render/renderers.h"

static void render_text_notes_add(
	struct str *out, const struct report *r, const struct render_options *o)
{
	if (r->notes.n && out->len)
		str_addc(out, '\n');
	vec_each (n, &r->notes) {
		str_add(out, "Note: ");
		wrap_add(out, *n, 6, 6, prose_width(o));
	}
}

static void tables_add(struct str *out, const struct report *r, const struct render_options *o)
{
	struct slices vs;

	if (slices_open(r, o->wide ? COL_HIDDEN : COL_HIDDEN | COL_WIDE, &vs)) {
		out->failed = true;
		return;
	}
	vec_each (v, &vs.v)
		table_add(out, r, v, !o->quiet || vs.v.n > 1, o);
	slices_close(&vs);
}

void text_report(const struct report *r, const struct render_options *o, struct str *out)
{
	/* Empty lines go between the parts of this report, whatever is in out before it. */
	_cleanup_str_ struct str text = {};

	if (!o->quiet)
		header_add(&text, r, o);
	findings_add(&text, r, o);
	if (!o->quiet && r->has_findings)
		findings_add_outlook(&text, r, o);
	tables_add(&text, r, o);
	if (!o->quiet && !r->has_findings)
		findings_add_outlook(&text, r, o);
	if (!o->quiet)
		render_text_notes_add(&text, r, o);
	out->failed |= text.failed;
	str_add(out, str_get(&text));
}

void text_rows(const struct report *r, const struct table *t, size_t from, bool first,
	const struct render_options *o, struct str *out)
{
	table_add_rows(out, r, t, from, first, o);
}

void text_end(const struct report *r, const struct render_options *o, struct str *out)
{
	if (o->quiet)
		return;
	str_addc(out, '\n');
	header_add_totals(out, r, o);
	findings_add_outlook(out, r, o);
	render_text_notes_add(out, r, o);
}

static struct render_options widened(const struct render_options *o)
{
	struct render_options wide = *o;

	wide.wide = true;
	return wide;
}

void wide_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct render_options wide = widened(o);

	text_report(r, &wide, out);
}

void wide_rows(const struct report *r, const struct table *t, size_t from, bool first,
	const struct render_options *o, struct str *out)
{
	struct render_options wide = widened(o);

	text_rows(r, t, from, first, &wide, out);
}
