/* See diff_match.h. */
#include "report/diff_match.h"

#include <string.h>

static const struct table *table_find(const struct report *r, const char *name)
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
	const struct column *c = &m->tables[1]->cols[after];
	int before = table_column(m->tables[0], c->name);

	if (before < 0 || m->tables[0]->cols[before].type != c->type)
		return -ENOENT;
	*ret = (struct diff_column){
		.c = c,
		.role = column_role(c),
		.at = {(size_t)before, after},
		.error = {table_error_column(m->tables[0], (size_t)before),
			table_error_column(m->tables[1], after)},
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

	if (after < 0 || !diff_compares(m->spec, &m->tables[1]->cols[after]) ||
		has_column(m, &m->tables[1]->cols[after]) || column_pair(m, (size_t)after, &pair))
		return 0;
	return vec_push(&m->cols, pair);
}

/* What text shows, unless --fields says which. */
static int columns_take_rest(struct diff_match *m)
{
	const struct table *t = m->tables[1];
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
	const struct table *t = m->tables[1];
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

static int columns_choose(struct diff_match *m)
{
	const struct table *t = m->tables[1];
	int rc = 0;

	if (m->spec->main)
		rc = column_take(m, table_column(t, m->spec->main));
	if (!rc && !m->cols.n && !m->spec->fields && !m->spec->main)
		rc = column_take(m, table_main_column(t));
	if (!rc && (m->cols.n || !m->spec->main || m->spec->fields))
		rc = columns_take_rest(m);
	if (!rc)
		rc = keys_choose(m);
	return rc ? rc : m->cols.n ? 0 : -ENOENT;
}

static int entries_add(struct diff_match *m, u32 side)
{
	const struct table *t = m->tables[side];
	_cleanup_free_ size_t *keys = reallocarray(NULL, m->keys.n + 1, sizeof(*keys));
	int rc = keys ? 0 : -ENOMEM;

	for (size_t i = 0; i < m->keys.n && !rc; i++)
		keys[i] = m->keys.v[i].at[side];
	for (size_t row = 0; row < t->n_rows && !rc; row++) {
		struct diff_entry e = {.side = side, .row = row, .at = m->ids.n};

		rc = identity_add(
			&m->texts, m->spec->sides[side]->stream, t, row, keys, m->keys.n, &m->ids);
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
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

const struct diff_entry *diff_row_entry(
	const struct diff_match *m, const struct diff_row *row, u32 side)
{
	for (size_t i = row->first; i < row->first + row->n; i++)
		if (m->entries.v[i].side == side)
			return &m->entries.v[i];
	return NULL;
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

static void amount_add(struct diff_amount *a, enum role role, const struct cell *c)
{
	long double v;

	a->n++;
	if (!cell_value(c, &v))
		return;
	if (!a->known || role == ROLE_SINGLE) /* which several rows do not have: see diff_amounts */
		a->value = v;
	else if (role == ROLE_SUM)
		a->value += v;
	else
		a->value = role == ROLE_MOST ? MAX(a->value, v) : MIN(a->value, v);
	a->known = true;
}

void diff_amounts(const struct diff_match *m, const struct diff_row *row,
	const struct diff_column *c, struct diff_amount ret[2])
{
	memset(ret, 0, 2 * sizeof(ret[0]));
	for (size_t i = row->first; i < row->first + row->n; i++) {
		const struct diff_entry *e = &m->entries.v[i];
		const struct table *t = m->tables[e->side];
		long double error;

		amount_add(&ret[e->side], c->role, table_cell(t, e->row, c->at[e->side]));
		if (c->error[e->side] >= 0 &&
			cell_value(table_cell(t, e->row, (size_t)c->error[e->side]), &error))
			ret[e->side].variance += error * error;
	}
	for (u32 side = 0; m->spec->per_second && side < 2; side++) {
		long double seconds = (long double)report_seconds(m->spec->sides[side]);

		ret[side].value /= seconds;
		ret[side].variance /= seconds * seconds;
	}
	for (u32 side = 0; side < 2; side++)
		if (c->role == ROLE_SINGLE && ret[side].n > 1)
			ret[side].known = false;
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
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int rows_match(struct diff_match *m)
{
	size_t n = m->entries.n;

	if (n)
		qsort_r(m->entries.v, n, sizeof(m->entries.v[0]), entry_compare, m);
	for (size_t i = 0; i < n;) {
		struct diff_row row = {.first = i};
		struct diff_amount a[2];
		long double change, error;

		while (i < n && !identity_compare(m, &m->entries.v[row.first], &m->entries.v[i]))
			i++;
		row.n = i - row.first;
		diff_amounts(m, &row, &m->cols.v[0], a);
		row.size = MAX(a[0].value, a[1].value);
		row.change = -1;
		if (diff_change(a, m->cols.v[0].role == ROLE_SUM, &change, &error))
			row.change = change < 0 ? -change : change;
		if (vec_push(&m->rows, row))
			return -ENOMEM;
	}
	if (m->rows.n)
		qsort_r(m->rows.v, m->rows.n, sizeof(m->rows.v[0]), row_compare, m);
	return 0;
}

int diff_match_open(const struct diff_spec *s, const char *name, struct diff_match *ret)
{
	struct diff_match m = {.spec = s};
	int rc = 0;

	texts_init(&m.texts);
	for (u32 side = 0; side < 2; side++)
		m.tables[side] = table_find(s->sides[side], name);
	rc = m.tables[0] && m.tables[1] ? columns_choose(&m) : -ENOENT;
	for (u32 side = 0; side < 2 && !rc; side++)
		rc = entries_add(&m, side);
	if (!rc)
		rc = rows_match(&m);
	if (rc)
		diff_match_close(&m);
	else
		*ret = m;
	return rc;
}

void diff_match_close(struct diff_match *m)
{
	vec_free(&m->cols);
	vec_free(&m->keys);
	vec_free(&m->entries);
	vec_free(&m->rows);
	vec_free(&m->ids);
	texts_free(&m->texts);
}
