/* -o json: the whole report as one object. With --each rows are drawn as they come, and what is
 * known only at the end stands behind them. */
#include "render/render_json_parts.h"
#include "render/renderers.h"

void json_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct json j = {.out = out, .pretty = true};
	struct slices vs;

	if (slices_open(r, 0, &vs)) {
		out->failed = true;
		return;
	}
	json_add_report(&j, r, &vs, NULL, o);
	str_addc(out, '\n');
	slices_close(&vs);
}

/* Up to the rows, of which none was drawn. */
static void object_begin(struct json *j, const struct report *r)
{
	json_begin_object(j);
	json_add_name(j, r);
	json_key(j, "rows");
	json_begin_array(j);
}

/* Among the rows, of which some were. */
static struct json object_within(struct str *out)
{
	return (struct json){.out = out, .pretty = true, .depth = 2, .has_items = {true, true}};
}

void json_rows(const struct report *r, const struct table *t, size_t from, bool first,
	const struct render_options *o, struct str *out)
{
	struct json j = object_within(out);
	struct slice v;

	(void)o;
	if (slice_open(r, t, 0, &v)) {
		out->failed = true;
		return;
	}
	if (first) {
		j = (struct json){.out = out, .pretty = true};
		object_begin(&j, r);
	}
	for (size_t row = from; row < v.n_rows; row++)
		json_add_row(&j, r, &v, row, NULL, NULL);
	slice_close(&v);
}

void json_end(const struct report *r, const struct render_options *o, struct str *out)
{
	struct json j = object_within(out);

	if (!o->headless) {
		j = (struct json){.out = out, .pretty = true};
		object_begin(&j, r);
	}
	json_end_array(&j);
	json_add_origin(&j, r);
	json_add_cut_rows(&j, o);
	json_add_tail(&j, r);
	json_end_object(&j);
	str_addc(out, '\n');
}
