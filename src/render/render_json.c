/* -o json: the whole report as one object. */
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
	json_begin_object(&j);
	json_add_head(&j, r);
	json_key(&j, "rows");
	json_begin_array(&j);
	vec_each (v, &vs.v)
		for (size_t row = 0; row < v->n_rows; row++) {
			json_add_row(&j, r, v, row);
			render_pass(o, out);
		}
	json_end_array(&j);
	json_add_cut(&j, &vs);
	json_add_tail(&j, r);
	json_end_object(&j);
	str_addc(out, '\n');
	slices_close(&vs);
}
