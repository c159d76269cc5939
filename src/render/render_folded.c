/*
 * -o folded: the stacks of one table as "comm;outermost;…;innermost weight", a line for each
 * distinct stack, as flame graph tools read them; with two weights where two runs are compared.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "render/render_slice.h"
#include "render/renderers.h"

struct fold {
	const char *stack;
	u64 weight, to; /* the second weight, if there is one */
};

/* Names with the two characters that mean something in the format replaced. */
static void render_folded_name_add(struct str *out, const char *name)
{
	size_t from = out->len;

	str_add_escaped(out, name);
	for (size_t i = from; i < out->len; i++) {
		if (out->buf[i] == ';')
			out->buf[i] = ':';
		else if (out->buf[i] == ' ')
			out->buf[i] = '_';
	}
}

struct names {
	VEC(char *) v;
	bool failed;
};

/* The bare name, so that all calls from one function fall together. */
static void render_folded_names_add(void *arg, const struct stack_line *l)
{
	struct names *ns = arg;
	struct stack_line bare = *l;
	_cleanup_str_ struct str raw = {}, name = {};

	bare.inlined = false;
	if (l->function)
		str_add(&raw, l->function);
	else
		stack_line_add(&raw, &bare, false);
	render_folded_name_add(&name, str_get(&raw));
	if (l->kernel)
		str_add(&name, "_[k]");
	if (raw.failed || name.failed || vec_push(&ns->v, name.buf))
		ns->failed = true;
	else
		name.buf = NULL; /* it is in the vector now */
}

static void stack_fold(struct str *out, const struct stream *s, u32 stack)
{
	struct names ns = {};

	stack_each(s, stack, render_folded_names_add, &ns);
	for (size_t i = ns.v.n; i-- > 0;) {
		if (out->len)
			str_addc(out, ';');
		str_add(out, ns.v.v[i]);
		free(ns.v.v[i]);
	}
	vec_free(&ns.v);
	out->failed |= ns.failed;
}

struct fold_columns {
	int stack, weight, to, comm; /* -1: none */
};

static bool render_folded_is_number(const struct column *c)
{
	return c->type == CELL_U64 || c->type == CELL_S64 || c->type == CELL_F64;
}

/* The weight is the first number named by --fields, else the column made for it. */
static int weight_column(const struct report *r, const struct slice *v)
{
	for (size_t i = 0; i < v->n_cols; i++) {
		const struct column *c = slice_column(v, i);

		if (r->fields ? render_folded_is_number(c) : c->flags & COL_WEIGHT)
			return (int)v->cols[i];
	}
	for (size_t i = 0; r->fields && i < v->t->n_cols; i++)
		if (v->t->cols[i].flags & COL_WEIGHT)
			return (int)i;
	return -1;
}

/* Of a comparison the second weight, -1: there is none. */
static int weight_to_column(const struct table *t)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (t->cols[i].flags & COL_WEIGHT_TO)
			return (int)i;
	return -1;
}

static int typed_column(const struct table *t, u8 type, const char *name)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (t->cols[i].type == type && (!name || !strcmp(t->cols[i].name, name)))
			return (int)i;
	return -1;
}

static u64 cell_weight(const struct table *t, size_t row, int col)
{
	const struct cell *c = col < 0 ? NULL : table_cell(t, row, (size_t)col);

	if (!c)
		return 1;
	if (c->type == CELL_F64)
		return c->f > 0 && c->f < 1.8e19 ? (u64)(c->f + 0.5) : 0;
	if (c->type == CELL_S64)
		return c->s > 0 ? (u64)c->s : 0;
	return c->type == CELL_U64 ? c->u : 0;
}

static void row_fold(struct str *line, const struct stream *s, const struct table *t, size_t row,
	const struct fold_columns *cols)
{
	const struct cell *stack = table_cell(t, row, (size_t)cols->stack);
	const struct cell *comm = cols->comm < 0 ? NULL : table_cell(t, row, (size_t)cols->comm);

	if (comm && comm->type == CELL_TEXT)
		render_folded_name_add(line, comm->text);
	if (stack->type == CELL_STACK)
		stack_fold(line, s, stack->stack);
	if (!line->len)
		str_add(line, "?");
}

static int fold_compare(const void *a, const void *b)
{
	return strcmp(((const struct fold *)a)->stack, ((const struct fold *)b)->stack);
}

/* Sorted lines; equal stacks become one. */
static void folds_add(struct str *out, struct fold *folds, size_t n, bool two)
{
	qsort(folds, n, sizeof(*folds), fold_compare);
	for (size_t i = 0, next; i < n; i = next) {
		u64 weight = folds[i].weight, to = folds[i].to;

		for (next = i + 1; next < n && !fold_compare(&folds[i], &folds[next]); next++) {
			weight += folds[next].weight;
			to += folds[next].to;
		}
		str_addf(out, "%s %llu", folds[i].stack, weight);
		if (two)
			str_addf(out, " %llu", to);
		str_addc(out, '\n');
	}
}

static void slice_fold(const struct report *r, const struct slice *v, struct str *out)
{
	struct fold_columns cols = {
		.stack = typed_column(v->t, CELL_STACK, NULL),
		.weight = weight_column(r, v),
		.to = weight_to_column(v->t),
		.comm = typed_column(v->t, CELL_TEXT, "comm"),
	};
	struct fold *folds = calloc(v->n_rows + 1, sizeof(*folds));
	_cleanup_str_ struct str line = {};
	struct arena arena = {};
	size_t n = 0;

	for (size_t i = 0; folds && i < v->n_rows; i++) {
		u64 weight = cell_weight(v->t, v->rows[i], cols.weight);
		u64 to = cols.to < 0 ? 0 : cell_weight(v->t, v->rows[i], cols.to);

		if (!weight && !to)
			continue;
		str_clear(&line);
		row_fold(&line, r->stream, v->t, v->rows[i], &cols);
		folds[n].stack = arena_strdup(&arena, str_get(&line));
		folds[n].weight = weight;
		folds[n].to = to;
		out->failed |= line.failed;
		if (folds[n].stack)
			n++;
		else
			out->failed = true;
	}
	if (folds)
		folds_add(out, folds, n, cols.to >= 0);
	else
		out->failed = true;
	free(folds);
	arena_free(&arena);
}

void folded_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct slices vs;

	(void)o;
	if (slices_open(r, 0, &vs)) {
		out->failed = true;
		return;
	}
	vec_each (v, &vs.v) {
		if (typed_column(v->t, CELL_STACK, NULL) < 0)
			continue;
		slice_fold(r, v, out);
		break;
	}
	slices_close(&vs);
}
