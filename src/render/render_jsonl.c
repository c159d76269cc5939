/* -o jsonl: an object a row, each on a line, then one with all the rest, marked "end": true. */
#include "render/render_json_parts.h"
#include "render/renderers.h"

static void row_line(const struct report *r, const struct slice *v, size_t row,
	const struct span_text *when, struct str *out)
{
	struct json j = {.out = out};

	json_add_row(&j, r, v, row, when, NULL);
	str_addc(out, '\n');
}

static void end_line(const struct report *r, const struct slices *vs,
	const struct render_options *o, struct str *out)
{
	struct json j = {.out = out};

	json_begin_object(&j);
	json_key(&j, "end");
	json_bool(&j, true);
	json_add_head(&j, r);
	json_add_cut(&j, vs);
	json_add_cut_rows(&j, o);
	json_add_tail(&j, r);
	json_end_object(&j);
	str_addc(out, '\n');
}

void jsonl_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct span_text when;
	struct slices vs;

	if (slices_open(r, 0, &vs)) {
		out->failed = true;
		return;
	}
	span_read(r->stream, &when);
	vec_each (v, &vs.v)
		for (size_t row = 0; row < v->n_rows; row++) {
			row_line(r, v, row, r->repeated ? &when : NULL, out);
			render_pass(o, out);
		}
	end_line(r, &vs, o, out);
	slices_close(&vs);
}

void jsonl_rows(const struct report *r, const struct table *t, size_t from, bool first,
	const struct render_options *o, struct str *out)
{
	struct slice v;

	(void)first;
	(void)o;
	if (slice_open(r, t, 0, &v)) {
		out->failed = true;
		return;
	}
	for (size_t row = from; row < v.n_rows; row++)
		row_line(r, &v, row, NULL, out);
	slice_close(&v);
}

void jsonl_end(const struct report *r, const struct render_options *o, struct str *out)
{
	struct slices none = {};

	end_line(r, &none, o, out);
}
