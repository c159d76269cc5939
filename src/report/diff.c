/* See diff.h. */
#include "report/diff.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "report/diff_match.h"
#include "report/stack_copy.h"

bool diff_change(
	const struct diff_amount amounts[2], bool summed, long double *ret, long double *ret_error)
{
	const struct diff_amount *before = &amounts[0], *after = &amounts[1];

	/* Of a sum, a row that is not there has none. */
	if (!(before->known || (summed && !before->n)) || !(after->known || (summed && !after->n)))
		return false;
	*ret = after->value - before->value;
	*ret_error = 2 * sqrtl(before->variance + after->variance);
	return true;
}

int diff_change_parse(const char *text, struct diff_change *ret)
{
	struct diff_change c = {.given = true};
	char *end;
	u64 n;

	c.value = strtod(text, &end);
	if (end == text || !(c.value >= 0) || !isfinite(c.value) || !isdigit((unsigned char)*text))
		return -EINVAL;
	c.share = !strcmp(end, "%");
	c.is_number = !c.share && (!*end || !parse_size(text, &n));
	if (c.is_number && *end)
		c.value = (double)n;
	c.is_time = !c.share && !parse_duration(text, &n);
	if (c.is_time)
		c.ns = (double)n;
	if (!c.share && !c.is_number && !c.is_time)
		return -EINVAL;
	*ret = c;
	return 0;
}

bool diff_threshold(const struct diff_change *c, const struct column *column, long double before,
	long double *ret)
{
	bool time = column->unit == UNIT_NS;

	if (!c->given || !(c->share || (time ? c->is_time : c->is_number)))
		return false;
	*ret = c->share ? (long double)c->value * fabsl(before) / 100
	       : time   ? (long double)c->ns
			: (long double)c->value;
	return true;
}

/* In the type of the column; what is too large for it becomes the largest. */
static struct cell amount_cell(const struct column *c, long double v)
{
	if (c->type == CELL_F64)
		return cell_f64((double)v);
	if (c->type == CELL_S64)
		return cell_s64(v >= 0x1p63L ? INT64_MAX : v <= -0x1p63L ? INT64_MIN : (s64)v);
	return cell_u64(v >= 0x1p64L ? UINT64_MAX : v <= 0 ? 0 : (u64)v);
}

/* The columns that show one that is compared. */
enum {
	SHOW_BEFORE,
	SHOW_BEFORE_SPREAD,
	SHOW_AFTER,
	SHOW_AFTER_SPREAD,
	SHOW_CHANGE,
	SHOW_SHARE,
	SHOW_ERROR,
	SHOW_P,
	SHOW_N
};

/* Those of several recordings a side only. */
static bool is_of_several(int k)
{
	return k == SHOW_BEFORE_SPREAD || k == SHOW_AFTER_SPREAD || k == SHOW_P;
}

static size_t shows_n(const struct diff_match *m)
{
	return diff_is_several(m) ? SHOW_N : SHOW_N - 3;
}

#define SHOWN_BESIDE 3 /* columns beside the main one whose change text shows */

#define FIELD_WORD "FIELD" /* in place of the name of what is compared */

static const struct column shows[SHOW_N] = {
	[SHOW_BEFORE] = {"before_FIELD", "BEFORE", CELL_U64, UNIT_NONE, 0,
		"in the first recording, of several the mean; empty: absent, or unknown"},
	[SHOW_BEFORE_SPREAD] = {"before_FIELD_spread", "+-", CELL_F64, UNIT_NONE, 0,
		"of several recordings: standard deviation of what they have"},
	[SHOW_AFTER] = {"after_FIELD", "AFTER", CELL_U64, UNIT_NONE, 0, "in the second"},
	[SHOW_AFTER_SPREAD] = {"after_FIELD_spread", "+-", CELL_F64, UNIT_NONE, 0,
		"of several recordings: standard deviation of what they have"},
	[SHOW_CHANGE] = {"change_FIELD", "CHANGE", CELL_S64, UNIT_NONE, COL_CHANGE,
		"after - before; of a sum, a row that is not there counts as 0"},
	[SHOW_SHARE] = {"change_FIELD_ratio", "CHANGE%", CELL_F64, UNIT_RATIO, COL_CHANGE,
		"change / before"},
	[SHOW_ERROR] = {"change_FIELD_error", "+-", CELL_U64, UNIT_NONE, COL_RARE,
		"where it was sampled: standard error of the change (estimated)"},
	[SHOW_P] = {"change_FIELD_p", "P", CELL_F64, UNIT_RATIO, 0,
		"of several recordings: the chance that noise alone makes such a change (Welch's "
		"t-test, two-sided)"},
};

/* The titles of those that are not the first. */
static const char *const beside[SHOW_N] = {
	"%s BEFORE", "%s BEFORE +-", "%s AFTER", "%s AFTER +-", "+%s", "+%s%%", "%s +-", "%s P"};

static const char *show_name(struct report *r, const struct diff_match *m, const char *name, int k)
{
	const char *at = strstr(shows[k].name, FIELD_WORD);

	return report_text(r, "%.*s%s%s%s", (int)(at - shows[k].name), shows[k].name, name,
		m->spec->per_second ? "_per_s" : "", at + strlen(FIELD_WORD));
}

/* One of the columns for the i-th that is compared; text shows all of the first. */
static struct column column_show(struct report *r, const struct diff_match *m, size_t i, int k)
{
	const struct column *of = m->cols.v[i].c;
	bool mean = m->spec->per_second || diff_is_several(m);
	u8 type = mean ? CELL_F64 : of->type;
	struct column c = shows[k];

	c.name = show_name(r, m, of->name, k);
	if (i)
		c.title = report_text(r, beside[k], of->title);
	if (k != SHOW_SHARE && k != SHOW_P)
		c.unit = of->unit;
	if (type == CELL_F64)
		c.type = CELL_F64;
	if (i && (k != SHOW_CHANGE || (i > SHOWN_BESIDE && !m->spec->fields)))
		c.flags |= COL_WIDE;
	if (k == SHOW_BEFORE && !i)
		c.flags |= COL_WEIGHT;
	if (k == SHOW_AFTER && !i)
		c.flags |= COL_WEIGHT_TO;
	if (type == CELL_S64 && (k == SHOW_BEFORE || k == SHOW_AFTER))
		c.type = CELL_S64;
	return c;
}

/* Their descriptions, shows_n() of them. */
static void columns_show(struct report *r, const struct diff_match *m, size_t i, struct column *ret)
{
	for (int k = 0; k < SHOW_N; k++)
		if (diff_is_several(m) || !is_of_several(k))
			*ret++ = column_show(r, m, i, k);
}

static void spread_show(const struct diff_amount *a, struct cell *ret)
{
	if (a->known && a->runs.n > 1)
		*ret = cell_f64((double)sqrtl(sample_variance(&a->runs)));
}

/* The cells of all columns, whether they are shown or not. */
static void cells_fill(const struct column *like, bool summed, const struct diff_amount a[2],
	struct cell ret[SHOW_N])
{
	long double change, error;
	double p;

	if (a[0].known)
		ret[SHOW_BEFORE] = amount_cell(like, a[0].value);
	if (a[1].known)
		ret[SHOW_AFTER] = amount_cell(like, a[1].value);
	spread_show(&a[0], &ret[SHOW_BEFORE_SPREAD]);
	spread_show(&a[1], &ret[SHOW_AFTER_SPREAD]);
	if (!diff_change(a, summed, &change, &error))
		return;
	ret[SHOW_CHANGE] = amount_cell(
		&(struct column){.type = like->type == CELL_F64 ? CELL_F64 : CELL_S64}, change);
	if (a[0].known && a[0].value != 0)
		ret[SHOW_SHARE] = cell_f64((double)(change / fabsl(a[0].value)));
	if (error > 0)
		ret[SHOW_ERROR] = amount_cell(
			&(struct column){.type = like->type == CELL_F64 ? CELL_F64 : CELL_U64},
			error / 2);
	p = welch_p(&a[0].runs, &a[1].runs);
	if (p >= 0)
		ret[SHOW_P] = cell_f64(p);
}

/* `cols` is the description of the first of them, that of BEFORE. */
static void cells_show(const struct diff_match *m, const struct column *cols, bool summed,
	const struct diff_amount a[2], struct cell *ret)
{
	struct cell all[SHOW_N] = {};

	cells_fill(cols, summed, a, all);
	for (int k = 0; k < SHOW_N; k++)
		if (diff_is_several(m) || !is_of_several(k))
			*ret++ = all[k];
}

/* Why a change of a row means nothing; NULL: it does mean something. */
static const char *unsure_text(const struct diff_match *m, const struct diff_row *row,
	long double change, long double error)
{
	if (change != 0 && !diff_is_beyond(row->p, diff_is_several(m)))
		return "within noise";
	return error > 0 && change != 0 && fabsl(change) <= error ? "within error" : NULL;
}

static const char *status_text(
	struct report *r, const struct diff_match *m, const struct diff_row *row)
{
	struct diff_amount a[2];
	const char *unsure, *status;
	long double change, error;

	diff_amounts(m, row, &m->cols.v[0], a);
	status = !a[0].n ? "new" : !a[1].n ? "gone" : NULL;
	if (!diff_change(a, m->cols.v[0].role == ROLE_SUM, &change, &error))
		return status ? status : "unknown";
	unsure = unsure_text(m, row, change, error);
	if (status)
		return unsure ? report_text(r, "%s, %s", status, unsure) : status;
	return unsure ? unsure : change > 0 ? "more" : change < 0 ? "less" : "same";
}

/* A stack that only the first recording has is made known to the stream of the report. */
static int key_cell(struct report *r, const struct diff_match *m, const struct diff_entry *e,
	size_t key, struct stack_copy *copy, struct cell *ret)
{
	struct cell c = *diff_key(m, e, key);
	int rc = 0;

	if (c.type == CELL_STACK && !e->run) {
		rc = stack_copy(copy, c.stack, &c.stack);
		c = cell_stack(c.stack);
	}
	if (c.type == CELL_TEXT && e->run > 1) /* it is the comparison's */
		c.text = report_text(r, "%s", c.text);
	*ret = c;
	return rc;
}

static bool is_stack(const struct diff_column *key)
{
	return key->c->type == CELL_STACK;
}

/* Names, what became of the row, numbers, stacks. */
static int row_show(struct report *r, struct diff_match *m, const struct diff_row *row,
	struct table *t, struct stack_copy *copy)
{
	const struct diff_entry *e = diff_row_shown(m, row);
	struct cell *cells = table_row(t), *at = cells;
	int rc = cells ? 0 : -ENOMEM;

	for (size_t i = 0; i < m->keys.n && !rc; i++)
		if (!is_stack(&m->keys.v[i]))
			rc = key_cell(r, m, e, i, copy, at++);
	if (rc)
		return rc;
	*at++ = cell_text(status_text(r, m, row));
	for (size_t i = 0; i < m->cols.n; i++, at += shows_n(m)) {
		struct diff_amount a[2];

		diff_amounts(m, row, &m->cols.v[i], a);
		cells_show(m, t->cols + (at - cells), m->cols.v[i].role == ROLE_SUM, a, at);
	}
	for (size_t i = 0; i < m->keys.n && !rc; i++)
		if (is_stack(&m->keys.v[i]))
			rc = key_cell(r, m, e, i, copy, at++);
	return rc;
}

static const struct column status_column = {"status", "STATUS", CELL_TEXT, UNIT_NONE, 0,
	"new, gone, more, less, same or unknown; within noise: of several recordings, changed by "
	"no more than these differ among themselves; within error: by less than two standard "
	"errors"};

static struct table *changes_table(struct report *r, const struct diff_match *m)
{
	size_t n = m->keys.n + 1 + m->cols.n * shows_n(m);
	struct column *cols = arena_alloc(&r->arena, n * sizeof(*cols)), *at = cols;
	const struct table *of = m->runs.v[1].table;
	struct table *t;

	if (!cols)
		return NULL;
	vec_each (k, &m->keys)
		if (!is_stack(k))
			*at++ = *k->c;
	*at++ = status_column;
	for (size_t i = 0; i < m->cols.n; i++, at += shows_n(m))
		columns_show(r, m, i, at);
	vec_each (k, &m->keys)
		if (is_stack(k))
			*at++ = *k->c;
	t = report_table(r, of->name,
		report_text(r, "%s: change of %s%s", of->title, m->cols.v[0].c->name,
			m->spec->per_second ? " a second" : ""),
		cols, n);
	if (t)
		t->empty = m->rows.n ? "Nothing changed by as much as --min." : of->empty;
	return t;
}

/* Of a row that changed by less than that, with --min. */
static bool diff_is_small(
	const struct diff_match *m, const struct diff_row *row, const struct diff_result *res)
{
	struct diff_amount a[2];
	long double least;

	diff_amounts(m, row, &m->cols.v[0], a);
	return diff_threshold(&m->spec->min, res->column,
		       res->summed ? res->total[0].value : a[0].value, &least) &&
	       row->change < least;
}

static int changes_add(
	struct report *r, struct stream *into, struct diff_match *m, const struct diff_result *res)
{
	struct table *t = changes_table(r, m);
	struct stack_copy copy;
	int rc = t ? 0 : -ENOMEM;

	stack_copy_init(&copy, m->spec->sides[0]->stream, into);
	for (size_t i = 0; i < m->rows.n && !rc; i++)
		if (!diff_is_small(m, &m->rows.v[i], res))
			rc = row_show(r, m, &m->rows.v[i], t, &copy);
	stack_copy_free(&copy);
	return rc;
}

static const struct column total_columns[] = {
	{"rows", "ROWS", CELL_U64, UNIT_COUNT, 0, "things compared, in either recording"},
	{"new_rows", "NEW", CELL_U64, UNIT_COUNT, 0, "of these, only in the second"},
	{"gone_rows", "GONE", CELL_U64, UNIT_COUNT, 0, "of these, only in the first"},
	{"of", "OF", CELL_TEXT, 0, COL_HIDDEN, "the table that this is the total of"},
};

#define TOTAL_OWN ARRAY_SIZE(total_columns)

static int total_add(struct report *r, const struct diff_match *m, const struct diff_result *res)
{
	size_t n = TOTAL_OWN + m->cols.n * shows_n(m), used = TOTAL_OWN;
	struct column *cols = arena_alloc(&r->arena, n * sizeof(*cols));
	struct table *t;
	struct cell *row;

	if (!cols)
		return -ENOMEM;
	memcpy(cols, total_columns, sizeof(total_columns));
	for (size_t i = 0; i < m->cols.n; i++)
		if (m->cols.v[i].role == ROLE_SUM) {
			columns_show(r, m, i, cols + used);
			used += shows_n(m);
		}
	t = report_table(
		r, "total", report_text(r, "Total: %s", m->runs.v[1].table->title), cols, used);
	if (t && !res->rows)
		return 0; /* of nothing there is no total */
	row = t ? table_row(t) : NULL;
	if (!row)
		return -ENOMEM;
	row[0] = cell_u64(res->rows);
	row[1] = cell_u64(res->new_rows);
	row[2] = cell_u64(res->gone_rows);
	row[3] = cell_text(m->runs.v[1].table->name);
	used = TOTAL_OWN;
	for (size_t i = 0; i < m->cols.n; i++)
		if (m->cols.v[i].role == ROLE_SUM) {
			struct diff_amount a[2];

			if (diff_totals(m, &m->cols.v[i], a))
				return -ENOMEM;
			cells_show(m, cols + used, true, a, row + used);
			used += shows_n(m);
		}
	return 0;
}

/* A row that rose: not by chance, as far as is known. */
static void rise_note(
	const struct diff_match *m, const struct diff_row *row, struct diff_result *res)
{
	struct diff_amount a[2];
	long double change, error;

	diff_amounts(m, row, &m->cols.v[0], a);
	res->new_rows += !a[0].n;
	res->gone_rows += !a[1].n;
	if (!diff_change(a, res->summed, &change, &error) || change <= error ||
		!diff_is_beyond(row->p, diff_is_several(m)))
		return;
	res->rise = MAX(res->rise, change);
	if (a[0].value != 0)
		res->rise_share = MAX(res->rise_share, change / fabsl(a[0].value));
}

static int result_fill(const struct diff_match *m, struct diff_result *res)
{
	const struct diff_column *main = &m->cols.v[0];

	*res = (struct diff_result){
		.column = main->c,
		.summed = main->role == ROLE_SUM,
		.runs = {m->n_runs[0], m->n_runs[1]},
		.rows = m->rows.n,
	};
	if (res->summed && diff_totals(m, main, res->total))
		return -ENOMEM;
	res->total_p = welch_p(&res->total[0].runs, &res->total[1].runs);
	vec_each (row, &m->rows)
		rise_note(m, row, res);
	return 0;
}

int diff_show(struct report *r, struct stream *into, struct diff_match *m, struct diff_result *ret)
{
	struct diff_result res;
	int rc = diff_match_rows(m);

	if (!rc)
		rc = result_fill(m, &res);
	if (!rc)
		rc = changes_add(r, into, m, &res);
	if (!rc)
		rc = total_add(r, m, &res);
	if (!rc)
		*ret = res;
	return rc;
}

static const struct view_table tables[] = {
	{"any", &status_column, 1, sizeof(status_column)},
	{"any and total, for each FIELD", shows, SHOW_N, sizeof(shows[0])},
	{"total", total_columns, TOTAL_OWN, sizeof(total_columns[0])},
	{},
};

const struct view_table *const diff_tables[] = {tables, NULL};
