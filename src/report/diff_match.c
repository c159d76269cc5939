/* See diff_match.h. */
#include "report/diff_match.h"

#include <string.h>

static const struct table *diff_match_table_find(const struct report *r, const char *name)
{
	vec_each (t, &r->tables)
		if (!strcmp((*t)->name, name))
			return *t;
	return NULL;
}

bool diff_compares(const struct diff_spec *s, const struct column *c)
{
	enum role role = column_role(c);

	if (s->per_second)
		return role == ROLE_SUM && !(c->flags & COL_LEVEL);
	return role_is_value(role);
}

/* -ENOENT where the table before has no such column, or another kind of it. */
static int column_pair(const struct diff_match *m, size_t after, struct diff_column *ret)
{
	const struct column *c = &m->runs.v[1].table->cols[after];
	int before = table_column(m->runs.v[0].table, c->name);

	if (before < 0 || m->runs.v[0].table->cols[before].type != c->type)
		return -ENOENT;
	*ret = (struct diff_column){
		.c = c,
		.role = column_role(c),
		.at = {(size_t)before, after},
		.error = {table_error_column(m->runs.v[0].table, (size_t)before),
			table_error_column(m->runs.v[1].table, after)},
	};
	return 0;
}

static bool has_column(const struct diff_match *m, const struct column *c)
{
	vec_each (have, &m->cols)
		if (have->c == c)
			return true;
	return false;
}

/* Adds a column to those that are compared, where it can be. */
static int column_take(struct diff_match *m, int after)
{
	struct diff_column pair;

	if (after < 0 || !diff_compares(m->spec, &m->runs.v[1].table->cols[after]) ||
		has_column(m, &m->runs.v[1].table->cols[after]) ||
		column_pair(m, (size_t)after, &pair))
		return 0;
	return vec_push(&m->cols, pair);
}

/* What text shows, unless --fields says which. */
static int columns_take_rest(struct diff_match *m)
{
	const struct table *t = m->runs.v[1].table;
	_cleanup_free_ size_t *wanted = reallocarray(NULL, t->n_cols + 1, sizeof(*wanted));
	size_t n = wanted ? table_select(t, m->spec->fields, wanted) : 0;
	int rc = wanted ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		if (m->spec->fields || !(t->cols[wanted[i]].flags & (COL_WIDE | COL_RARE)))
			rc = column_take(m, (int)wanted[i]);
	return rc;
}

static bool has_stacks(const struct table *t)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (t->cols[i].type == CELL_STACK)
			return true;
	return false;
}

static int keys_choose(struct diff_match *m)
{
	const struct table *t = m->runs.v[1].table;
	bool any_comm = m->spec->any_comm && has_stacks(t);
	int rc = 0;

	for (size_t i = 0; i < t->n_cols && !rc; i++) {
		struct diff_column pair;

		if (column_role(&t->cols[i]) != ROLE_KEY || column_pair(m, i, &pair) ||
			(any_comm && !strcmp(t->cols[i].name, "comm")))
			continue;
		rc = vec_push(&m->keys, pair);
	}
	return rc;
}

static int diff_match_columns_choose(struct diff_match *m)
{
	const struct table *t = m->runs.v[1].table;
	int rc = 0;

	if (m->spec->main)
		rc = column_take(m, table_column(t, m->spec->main));
	if (!rc && !m->cols.n && !m->spec->fields && !m->spec->main)
		rc = column_take(m, m->spec->counts ? table_count_column(t) : table_main_column(t));
	if (!rc && (m->cols.n || !m->spec->main || m->spec->fields))
		rc = columns_take_rest(m);
	if (!rc)
		rc = keys_choose(m);
	return rc ? rc : m->cols.n ? 0 : -ENOENT;
}

/* The identities of the rows of a table, as entries of a recording. */
static int entries_add(struct diff_match *m, u32 run, const struct stream *s, const struct table *t,
	const size_t *keys)
{
	int rc = 0;

	for (size_t row = 0; row < t->n_rows && !rc; row++) {
		struct diff_entry e = {.run = run, .row = row, .at = m->ids.n, .keyed = true};

		rc = identity_add(&m->texts, s, t, row, keys, m->keys.n, &m->ids);
		e.n = (u32)(m->ids.n - e.at);
		if (!rc)
			rc = vec_push(&m->entries, e);
	}
	return rc;
}

static int identity_compare(
	const struct diff_match *m, const struct diff_entry *a, const struct diff_entry *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return a->n ? memcmp(m->ids.v + a->at, m->ids.v + b->at, a->n * sizeof(m->ids.v[0])) : 0;
}

static int entry_compare(const void *pa, const void *pb, void *arg)
{
	const struct diff_entry *a = pa, *b = pb;
	int diff = identity_compare(arg, a, b);

	if (diff)
		return diff;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static void entries_sort(struct diff_match *m)
{
	if (m->entries.n)
		qsort_r(m->entries.v, m->entries.n, sizeof(m->entries.v[0]), entry_compare, m);
}

/* Where the cells of a row that was copied are. */
static size_t copied_width(const struct diff_match *m)
{
	return m->keys.n + 2 * m->cols.n;
}

static const struct cell *copied_cell(
	const struct diff_match *m, const struct diff_entry *e, size_t i)
{
	return &m->runs.v[e->run].cells.v[e->row * copied_width(m) + i];
}

const struct cell *diff_key(const struct diff_match *m, const struct diff_entry *e, size_t i)
{
	if (e->run > 1)
		return copied_cell(m, e, i);
	return table_cell(m->runs.v[e->run].table, e->row, m->keys.v[i].at[e->run]);
}

static const struct cell *value_cell(
	const struct diff_match *m, const struct diff_entry *e, const struct diff_column *c)
{
	if (e->run > 1)
		return copied_cell(m, e, m->keys.n + 2 * (size_t)(c - m->cols.v));
	return table_cell(m->runs.v[e->run].table, e->row, c->at[e->run]);
}

/* NULL: it has no column of errors. */
static const struct cell *error_cell(
	const struct diff_match *m, const struct diff_entry *e, const struct diff_column *c)
{
	if (e->run > 1)
		return copied_cell(m, e, m->keys.n + 2 * (size_t)(c - m->cols.v) + 1);
	if (c->error[e->run] < 0)
		return NULL;
	return table_cell(m->runs.v[e->run].table, e->row, (size_t)c->error[e->run]);
}

const struct diff_entry *diff_row_shown(const struct diff_match *m, const struct diff_row *row)
{
	const struct diff_entry *e = &m->entries.v[row->first], *shown = NULL;

	for (const struct diff_entry *end = e + row->n; e < end; e++)
		if (e->run == 1 || (!shown && e->keyed))
			shown = e;
	return shown;
}

/* The columns of another recording's table that are the keys and the compared ones. */
static int columns_find(const struct diff_match *m, const struct table *t, size_t *keys, int *cols)
{
	for (size_t i = 0; i < m->keys.n + m->cols.n; i++) {
		bool key = i < m->keys.n;
		const struct column *c = key ? m->keys.v[i].c : m->cols.v[i - m->keys.n].c;
		int at = table_column(t, c->name);

		if (at < 0 || t->cols[at].type != c->type)
			return -ENOENT;
		if (key)
			keys[i] = (size_t)at;
		else
			cols[i - m->keys.n] = at;
	}
	return 0;
}

static int key_copy(
	struct diff_match *m, const struct cell *of, struct stack_copy *stacks, struct cell *ret)
{
	int rc = 0;

	*ret = *of;
	if (of->type == CELL_TEXT)
		ret->text = arena_strdup(&m->arena, of->text);
	if (of->type == CELL_STACK)
		rc = stack_copy(stacks, of->stack, &ret->stack);
	return of->type == CELL_TEXT && !ret->text ? -ENOMEM : rc;
}

/* Of a row of the last recording, whose stream will go. */
static int row_copy(struct diff_match *m, const struct table *t, const struct diff_entry *e,
	const size_t *keys, const int *cols, struct stack_copy *stacks)
{
	struct cell *to = m->runs.v[e->run].cells.v + e->row * copied_width(m);
	int rc = 0;

	for (size_t i = 0; e->keyed && i < m->keys.n && !rc; i++)
		rc = key_copy(m, table_cell(t, e->row, keys[i]), stacks, &to[i]);
	to += m->keys.n;
	for (size_t i = 0; i < m->cols.n; i++, to += 2) {
		int error = table_error_column(t, (size_t)cols[i]);

		to[0] = *table_cell(t, e->row, (size_t)cols[i]);
		if (error >= 0)
			to[1] = *table_cell(t, e->row, (size_t)error);
	}
	return rc;
}

/* Names of a row are copied where it is the first of its identity. */
static int rows_copy(struct diff_match *m, const struct report *r, const struct table *t,
	const size_t *keys, const int *cols, struct stream *into)
{
	struct diff_run *run = &m->runs.v[m->runs.n - 1];
	size_t n = t->n_rows * copied_width(m);
	struct stack_copy stacks;
	int rc = vec_reserve(&run->cells, n);

	if (rc)
		return rc;
	memset(run->cells.v, 0, n * sizeof(run->cells.v[0]));
	run->cells.n = n;
	stack_copy_init(&stacks, r->stream, into);
	for (size_t i = 0; i < m->entries.n && !rc; i++) {
		struct diff_entry *e = &m->entries.v[i];

		if (e->run != m->runs.n - 1)
			continue;
		e->keyed = !i || identity_compare(m, e - 1, e) != 0;
		rc = row_copy(m, t, e, keys, cols, &stacks);
	}
	stack_copy_free(&stacks);
	return rc;
}

static int run_add(struct diff_match *m, u32 side, const struct report *r, const struct table *t)
{
	struct diff_run run = {.side = side,
		.table = t,
		.stream = r->stream,
		.seconds = (long double)report_seconds(r)};
	int rc = vec_push(&m->runs, run);

	if (!rc)
		m->n_runs[side]++;
	return rc;
}

int diff_join(struct diff_match *m, u32 side, const struct report *r, const char *name,
	struct stream *into)
{
	const struct table *t = diff_match_table_find(r, name);
	_cleanup_free_ size_t *keys = reallocarray(NULL, m->keys.n + 1, sizeof(*keys));
	_cleanup_free_ int *cols = reallocarray(NULL, m->cols.n + 1, sizeof(*cols));
	int rc = keys && cols ? t ? columns_find(m, t, keys, cols) : -ENOENT : -ENOMEM;

	if (!rc)
		rc = run_add(m, side, r, NULL);
	if (rc)
		return rc;
	rc = entries_add(m, (u32)m->runs.n - 1, r->stream, t, keys);
	if (!rc) {
		entries_sort(m);
		rc = rows_copy(m, r, t, keys, cols, into);
	}
	m->runs.v[m->runs.n - 1].stream = NULL;
	texts_forget(&m->texts);
	return rc;
}

static bool cell_value(const struct cell *c, long double *ret)
{
	if (c->type == CELL_U64)
		*ret = (long double)c->u;
	else if (c->type == CELL_S64)
		*ret = (long double)c->s;
	else if (c->type == CELL_F64 && c->f - c->f == 0) /* finite */
		*ret = (long double)c->f;
	else
		return false;
	return true;
}

/* What one recording has of a row. */
struct part {
	long double value, variance;
	bool known;
	u32 n;
};

static void diff_match_part_add(struct part *p, const struct diff_match *m,
	const struct diff_entry *e, const struct diff_column *c)
{
	const struct cell *error = error_cell(m, e, c);
	long double v;

	p->n++;
	if (error && cell_value(error, &v))
		p->variance += v * v;
	if (!cell_value(value_cell(m, e, c), &v))
		return;
	if (!p->known)
		p->value = v;
	else if (c->role == ROLE_SUM)
		p->value += v;
	else
		p->value = c->role == ROLE_MOST ? MAX(p->value, v) : MIN(p->value, v);
	p->known = true;
}

/* Puts what a recording has to that of the others of its side; `variance` is of the sum so far. */
static void amount_add(struct diff_amount *a, const struct diff_match *m,
	const struct diff_run *run, const struct diff_column *c, const struct part *p)
{
	long double per = m->spec->per_second ? run->seconds : 1;

	a->n += p->n > 0;
	/* a mean or a ratio of several rows is not known */
	if (!p->known || (c->role == ROLE_SINGLE && p->n > 1))
		return;
	a->known = true;
	a->variance += p->variance / (per * per);
	sample_add(&a->runs, p->value / per);
}

/* A row that a recording does not have has a sum of 0 there. */
static void amounts_end(
	const struct diff_match *m, const struct diff_column *c, struct diff_amount a[2])
{
	for (u32 side = 0; side < 2; side++) {
		for (u32 i = a[side].n; c->role == ROLE_SUM && i < m->n_runs[side]; i++)
			sample_add(&a[side].runs, 0);
		a[side].value = a[side].runs.mean;
		if (a[side].runs.n)
			a[side].variance /= (long double)a[side].runs.n * a[side].runs.n;
	}
}

void diff_amounts(const struct diff_match *m, const struct diff_row *row,
	const struct diff_column *c, struct diff_amount ret[2])
{
	const struct diff_entry *e = &m->entries.v[row->first], *end = e + row->n;

	memset(ret, 0, 2 * sizeof(ret[0]));
	while (e < end) {
		const struct diff_run *run = &m->runs.v[e->run];
		u32 number = e->run;
		struct part p = {};

		for (; e < end && e->run == number; e++)
			diff_match_part_add(&p, m, e, c);
		amount_add(&ret[run->side], m, run, c, &p);
	}
	amounts_end(m, c, ret);
}

int diff_totals(const struct diff_match *m, const struct diff_column *c, struct diff_amount ret[2])
{
	_cleanup_free_ struct part *parts = calloc(m->runs.n, sizeof(*parts));

	memset(ret, 0, 2 * sizeof(ret[0]));
	if (!parts)
		return -ENOMEM;
	vec_each (e, &m->entries)
		diff_match_part_add(&parts[e->run], m, e, c);
	for (size_t i = 0; i < m->runs.n; i++)
		amount_add(&ret[m->runs.v[i].side], m, &m->runs.v[i], c, &parts[i]);
	amounts_end(m, c, ret);
	return 0;
}

bool diff_is_several(const struct diff_match *m)
{
	return m->n_runs[0] > 1 || m->n_runs[1] > 1;
}

static int row_compare(const void *pa, const void *pb, void *arg)
{
	const struct diff_row *a = pa, *b = pb;
	const struct diff_match *m = arg;
	const struct diff_entry *x = &m->entries.v[a->first], *y = &m->entries.v[b->first];

	if (a->change != b->change)
		return a->change > b->change ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int p_compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

/* The p of rows, each by itself, become those among all that were tested: Holm's correction. */
static int rows_adjust(struct diff_match *m)
{
	_cleanup_free_ double *sorted = reallocarray(NULL, m->rows.n + 1, sizeof(*sorted));
	_cleanup_free_ double *adjusted = reallocarray(NULL, m->rows.n + 1, sizeof(*adjusted));
	size_t n = 0;

	if (!sorted || !adjusted)
		return -ENOMEM;
	vec_each (row, &m->rows)
		if (row->p > 0 && row->p < 1) /* what never varies is no test */
			sorted[n++] = row->p;
	if (!n)
		return 0;
	qsort(sorted, n, sizeof(*sorted), p_compare);
	memcpy(adjusted, sorted, n * sizeof(*sorted));
	holm_adjust(adjusted, n);
	vec_each (row, &m->rows) {
		const double *at;

		if (row->p <= 0 || row->p >= 1)
			continue;
		at = bsearch(&row->p, sorted, n, sizeof(*sorted), p_compare);
		row->p = adjusted[at - sorted];
	}
	return 0;
}

int diff_match_rows(struct diff_match *m)
{
	size_t n = m->entries.n;

	entries_sort(m);
	for (size_t i = 0; i < n;) {
		struct diff_row row = {.first = i};
		struct diff_amount a[2];
		long double change, error;

		while (i < n && !identity_compare(m, &m->entries.v[row.first], &m->entries.v[i]))
			i++;
		row.n = i - row.first;
		diff_amounts(m, &row, &m->cols.v[0], a);
		row.size = MAX(a[0].value, a[1].value);
		row.p = welch_p(&a[0].runs, &a[1].runs);
		row.change = -1;
		if (diff_change(a, m->cols.v[0].role == ROLE_SUM, &change, &error))
			row.change = change < 0 ? -change : change;
		if (vec_push(&m->rows, row))
			return -ENOMEM;
	}
	if (m->rows.n)
		qsort_r(m->rows.v, m->rows.n, sizeof(m->rows.v[0]), row_compare, m);
	return rows_adjust(m);
}

/* The identities of the first recording of a side. */
static int first_add(struct diff_match *m, u32 side)
{
	_cleanup_free_ size_t *keys = reallocarray(NULL, m->keys.n + 1, sizeof(*keys));

	for (size_t i = 0; keys && i < m->keys.n; i++)
		keys[i] = m->keys.v[i].at[side];
	return keys ? entries_add(m, side, m->runs.v[side].stream, m->runs.v[side].table, keys)
		    : -ENOMEM;
}

int diff_begin(const struct diff_spec *s, const char *name, struct diff_match **ret)
{
	struct diff_match *m = calloc(1, sizeof(*m));
	int rc = m ? 0 : -ENOMEM;

	if (rc)
		return rc;
	m->spec = s;
	texts_init(&m->texts);
	for (u32 side = 0; side < 2 && !rc; side++) {
		const struct table *t = diff_match_table_find(s->sides[side], name);

		rc = t ? run_add(m, side, s->sides[side], t) : -ENOENT;
	}
	if (!rc)
		rc = diff_match_columns_choose(m);
	for (u32 side = 0; side < 2 && !rc; side++)
		rc = first_add(m, side);
	texts_forget(&m->texts);
	if (rc)
		diff_end(m);
	else
		*ret = m;
	return rc;
}

void diff_end(struct diff_match *m)
{
	if (!m)
		return;
	vec_each (run, &m->runs)
		vec_free(&run->cells);
	vec_free(&m->runs);
	vec_free(&m->cols);
	vec_free(&m->keys);
	vec_free(&m->entries);
	vec_free(&m->rows);
	vec_free(&m->ids);
	texts_free(&m->texts);
	arena_free(&m->arena);
	free(m);
}
