/*
 * The data of a page: the object that -o json prints, with what a script needs to draw it (columns,
 * stacks, frames), as JSON, compressed (deflate without a header) and in base64, in an element that
 * no browser executes. Nothing of it is seen by the parser of HTML.
 *
 * {"report": the object of -o json, where a stack is its index in "stacks",
 *  "tables": [{"name", "title", "empty", "sort", "count" (of rows), "story", "columns":
 *             [{"name", "title", "type", "unit", "role", "help", "wide", "hidden", "weight",
 *             "below", "level", "change"}],
 *             "parts": {"ends": [ns], "columns": [name], "rows": [[part, number a column, …]]}}],
 *             (of each row, what it had in each part of the time; only where that is known)
 *  "stacks": [[index in "frames", innermost first]],
 *  "frames": [[function, rest of its line of text, module, file, 1: kernel, 2: inlined]]
 *             (module and file: index in "names", -1: none),
 *  "names": [text]}
 */
#include "render/html/html.h"

#include <string.h>

#include "base/groups.h"
#include "render/html/html_pack.h"
#include "render/render_json_parts.h"
#include "report/parts.h"
#include "report/role.h"

/* Stacks and their frames, each written once, under numbers in the order of first sight. */
struct frames {
	const struct stream *s;
	struct groups stacks; /* id: number */
	struct groups lines;  /* struct line_key: number */
	struct groups names;  /* const char *, of the stream: number */
	struct str text;      /* the lines as JSON */
	struct json json;     /* into it */
	struct json *stack;   /* where the numbers of a stack's lines go */
	bool failed;
};

struct line_key {
	u32 frame, part;
};

static void frames_init(struct frames *f, const struct stream *s)
{
	*f = (struct frames){.s = s};
	groups_init(&f->stacks, sizeof(u32), sizeof(u32));
	groups_init(&f->lines, sizeof(struct line_key), sizeof(u32));
	groups_init(&f->names, sizeof(const char *), sizeof(u32));
	f->json = (struct json){.out = &f->text};
	json_begin_array(&f->json);
}

static void frames_free(struct frames *f)
{
	groups_free(&f->stacks);
	groups_free(&f->lines);
	groups_free(&f->names);
	str_free(&f->text);
}

/* The number of a key, a new one where it was not seen before. */
static bool html_data_number_of(struct frames *f, struct groups *g, const void *key, u32 *ret)
{
	size_t before = g->n;
	u32 *number = groups_get(g, key);

	f->failed |= !number;
	if (!number) {
		*ret = 0;
		return false;
	}
	if (g->n > before)
		*number = (u32)before;
	*ret = *number;
	return g->n > before;
}

static void html_data_name_add(struct frames *f, const char *name)
{
	u32 number = 0;

	if (name && *name) {
		html_data_number_of(f, &f->names, &name, &number);
		json_u64(&f->json, number);
	} else {
		json_s64(&f->json, -1);
	}
}

static void html_data_line_add(struct frames *f, const struct stack_line *l)
{
	_cleanup_str_ struct str text = {};
	size_t function = l->function ? strlen(l->function) : 0;

	stack_line_add(&text, l, false);
	f->failed |= text.failed;
	json_begin_array(&f->json);
	json_str(&f->json, l->function ? l->function : "");
	json_str(&f->json, str_get(&text) + MIN(function, text.len));
	html_data_name_add(f, l->module);
	html_data_name_add(f, l->file);
	json_u64(&f->json, (l->kernel ? 1 : 0) | (l->inlined ? 2 : 0));
	json_end_array(&f->json);
}

static void line_number_add(void *arg, const struct stack_line *l)
{
	struct frames *f = arg;
	struct line_key key = {l->frame, l->part};
	u32 number;

	if (html_data_number_of(f, &f->lines, &key, &number))
		html_data_line_add(f, l);
	json_u64(f->stack, number);
}

static void stack_number_add(void *arg, struct json *j, u32 stack)
{
	struct frames *f = arg;
	u32 number;

	html_data_number_of(f, &f->stacks, &stack, &number);
	json_u64(j, number);
}

static void stacks_add(struct json *j, struct frames *f, const struct render_options *o)
{
	json_key(j, "stacks");
	json_begin_array(j);
	f->stack = j;
	for (size_t i = 0; i < f->stacks.n; i++) {
		u32 stack;

		memcpy(&stack, groups_key(&f->stacks, i), sizeof(stack));
		json_begin_array(j);
		stack_each(f->s, stack, line_number_add, f);
		json_end_array(j);
		render_pass(o, j->out);
	}
	json_end_array(j);
}

static void frames_add(struct json *j, struct frames *f, const struct render_options *o)
{
	json_end_array(&f->json);
	f->failed |= f->text.failed;
	json_key(j, "frames");
	str_add(j->out, str_get(&f->text));
	j->after_key = false;
	render_pass(o, j->out);
	json_key(j, "names");
	json_begin_array(j);
	for (size_t i = 0; i < f->names.n; i++) {
		const char *name;

		memcpy(&name, groups_key(&f->names, i), sizeof(name));
		json_str(j, name);
	}
	json_end_array(j);
}

static const char *html_data_type_name(u8 type)
{
	static const char *const names[] = {
		[CELL_U64] = "number",
		[CELL_S64] = "number",
		[CELL_F64] = "number",
		[CELL_BOOL] = "bool",
		[CELL_TEXT] = "text",
		[CELL_STACK] = "stack",
		[CELL_HIST] = "hist",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "text";
}

static const char *unit_name(u8 unit)
{
	static const char *const names[] = {
		[UNIT_COUNT] = "count",
		[UNIT_BYTES] = "bytes",
		[UNIT_PAGES] = "pages",
		[UNIT_NS] = "ns",
		[UNIT_RATIO] = "ratio",
		[UNIT_ID] = "id",
		[UNIT_HEX] = "hex",
		[UNIT_CGROUP] = "cgroup",
		[UNIT_PERMILLE] = "permille",
	};

	return unit < ARRAY_SIZE(names) && names[unit] ? names[unit] : "";
}

static const char *role_name(enum role role)
{
	static const char *const names[] = {
		[ROLE_NONE] = "",
		[ROLE_KEY] = "key",
		[ROLE_SUM] = "sum",
		[ROLE_LEAST] = "least",
		[ROLE_MOST] = "most",
		[ROLE_SINGLE] = "single",
		[ROLE_ERROR] = "error",
	};

	return names[role];
}

static void member(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	if (value)
		json_str(j, value);
	else
		json_null(j);
}

static void column_add(struct json *j, const struct column *c)
{
	static const struct {
		u16 flag;
		const char *name;
	} flags[] = {
		{COL_WIDE, "wide"},
		{COL_HIDDEN, "hidden"},
		{COL_WEIGHT, "weight"},
		{COL_BELOW, "below"},
		{COL_RARE, "rare"},
		{COL_LEVEL, "level"},
		{COL_CHANGE, "change"},
	};

	json_begin_object(j);
	member(j, "name", c->name);
	member(j, "title", c->title);
	member(j, "type", html_data_type_name(c->type));
	member(j, "unit", unit_name(c->unit));
	member(j, "role", role_name(column_role(c)));
	member(j, "help", c->help);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (c->flags & flags[i].flag) {
			json_key(j, flags[i].name);
			json_bool(j, true);
		}
	json_end_object(j);
}

static void html_data_parts_add(struct json *j, const struct slice *v)
{
	const struct table_parts *p = v->t->parts;

	json_key(j, "parts");
	json_begin_object(j);
	json_key(j, "ends");
	json_begin_array(j);
	vec_each (end, &p->of->ends_ns)
		json_u64(j, *end);
	json_end_array(j);
	json_key(j, "columns");
	json_begin_array(j);
	vec_each (col, &p->cols)
		json_str(j, v->t->cols[*col].name);
	json_end_array(j);
	json_key(j, "rows");
	json_begin_array(j);
	for (size_t i = 0; i < v->n_rows; i++) {
		size_t row = v->rows[i];

		json_begin_array(j);
		for (size_t at = p->first.v[row]; at < p->first.v[row + 1]; at++)
			json_u64(j, p->entries.v[at]);
		json_end_array(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void tables_add(struct json *j, const struct slices *vs)
{
	json_key(j, "tables");
	json_begin_array(j);
	vec_each (v, &vs->v) {
		json_begin_object(j);
		member(j, "name", v->t->name);
		member(j, "title", v->t->title);
		member(j, "empty", v->t->empty);
		member(j, "sort", v->t->sort);
		json_key(j, "count");
		json_u64(j, v->n_rows);
		json_key(j, "story");
		json_bool(j, v->t->story);
		json_key(j, "columns");
		json_begin_array(j);
		for (size_t i = 0; i < v->n_cols; i++)
			column_add(j, slice_column(v, i));
		json_end_array(j);
		if (v->t->parts)
			html_data_parts_add(j, v);
		json_end_object(j);
	}
	json_end_array(j);
}

static void data_add(struct json *j, const struct report *r, const struct slices *vs,
	struct frames *f, const struct render_options *o)
{
	const struct json_stacks stacks = {stack_number_add, f};

	json_begin_object(j);
	json_key(j, "report");
	json_add_report(j, r, vs, &stacks, o);
	tables_add(j, vs);
	stacks_add(j, f, o);
	frames_add(j, f, o);
	json_end_object(j);
}

void html_data_add(struct str *out, const struct report *r, const struct render_options *o)
{
	_cleanup_str_ struct str text = {};
	struct json j = {.out = &text};
	struct html_pack pack;
	const struct render_options packing = {.take = html_pack_take, .arg = &pack};
	struct frames f;
	struct slices vs;

	if (slices_open(r, 0, &vs)) {
		out->failed = true;
		return;
	}
	str_add(out, "<script type=\"text/plain\" class=\"data\">");
	html_pack_begin(&pack, out, o);
	frames_init(&f, r->stream);
	data_add(&j, r, &vs, &f, &packing);
	html_pack_end(&pack, &text);
	out->failed |= f.failed;
	frames_free(&f);
	slices_close(&vs);
	str_add(out, "</script>\n");
}
