/* The tables of a report: rows, columns, their choice and order. See report.h. */
#include <string.h>

#include "report/report.h"

#define KEEP_MORE 256  /* rows that are there before any are dropped */
#define WORTH_ROWS 5   /* these are shown however little they have … */
#define WORTH_PART 100 /* … the others if that is such a part of what the first one has */

struct cell *table_cell(const struct table *t, size_t row, size_t col)
{
	return &t->cells.v[row * t->n_cols + col];
}

static int table_column_n(const struct table *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (strlen(t->cols[i].name) == len && !memcmp(t->cols[i].name, name, len))
			return (int)i;
	return -ENOENT;
}

int table_column(const struct table *t, const char *name)
{
	return table_column_n(t, name, strlen(name));
}

static bool has_column(const size_t *cols, size_t n, size_t col)
{
	for (size_t i = 0; i < n; i++)
		if (cols[i] == col)
			return true;
	return false;
}

size_t table_select(const struct table *t, const char *fields, size_t *cols)
{
	size_t n = 0;

	if (!fields) {
		for (; n < t->n_cols; n++)
			cols[n] = n;
		return n;
	}
	for (const char *p = fields; *p;) {
		size_t len = strcspn(p, ",");
		int col = table_column_n(t, p, len);

		if (col >= 0 && !has_column(cols, n, (size_t)col))
			cols[n++] = (size_t)col;
		p += len;
		p += *p == ',';
	}
	return n;
}

struct sort {
	const struct table *t;
	size_t col;
	bool ascending;
};

/* -ENOENT: the rows stay as filled. */
static int sort_choose(const struct table *t, const char *wish, struct sort *ret)
{
	const char *const names[] = {wish, t->sort};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool ascending = names[i] && names[i][0] == '-';
		int col = names[i] ? table_column(t, names[i] + ascending) : -ENOENT;

		if (col < 0)
			continue;
		*ret = (struct sort){.t = t, .col = (size_t)col, .ascending = ascending};
		return 0;
	}
	return -ENOENT;
}

static u64 hist_total(const struct hist_cell *h)
{
	u64 total = 0;

	for (size_t i = 0; i < HIST_SLOTS; i++)
		total += h->slots[i];
	return total;
}

static long double cell_number(const struct cell *c)
{
	switch (c->type) {
	case CELL_U64:
		return (long double)c->u;
	case CELL_S64:
		return (long double)c->s;
	case CELL_F64:
		return c->f == c->f ? (long double)c->f : -__builtin_infl();
	case CELL_BOOL:
		return c->b;
	case CELL_HIST:
		return (long double)hist_total(c->hist);
	default:
		return 0; /* stacks have no order */
	}
}

static int cell_compare(const struct cell *a, const struct cell *b)
{
	long double x, y;

	if (a->type == CELL_TEXT && b->type == CELL_TEXT)
		return strcmp(a->text, b->text);
	x = cell_number(a);
	y = cell_number(b);
	return (x > y) - (x < y);
}

/* Below 0: a comes first. */
static int cells_order(const struct cell *a, const struct cell *b, bool ascending)
{
	int diff;

	if (!a->type != !b->type)
		return a->type ? -1 : 1;
	diff = cell_compare(a, b);
	return ascending ? diff : -diff;
}

static int row_compare(const void *pa, const void *pb, void *arg)
{
	const struct sort *s = arg;
	size_t ra = *(const size_t *)pa, rb = *(const size_t *)pb;
	int diff = cells_order(
		table_cell(s->t, ra, s->col), table_cell(s->t, rb, s->col), s->ascending);

	return diff ? diff : (ra > rb) - (ra < rb);
}

void table_order(const struct table *t, const char *sort, size_t *order)
{
	struct sort s;

	for (size_t i = 0; i < t->n_rows; i++)
		order[i] = i;
	if (!sort_choose(t, sort, &s))
		qsort_r(order, t->n_rows, sizeof(order[0]), row_compare, &s);
}

size_t table_worth(const struct table *t, const char *sort, const size_t *order, size_t n)
{
	struct sort s;
	size_t worth = MIN(n, (size_t)WORTH_ROWS);
	long double least;

	if (worth == n || sort_choose(t, sort, &s) || s.ascending ||
		t->cols[s.col].unit == UNIT_ID || t->cols[s.col].type == CELL_TEXT)
		return n;
	least = cell_number(table_cell(t, order[0], s.col)) / WORTH_PART;
	if (least <= 0)
		return n;
	while (worth < n && cell_number(table_cell(t, order[worth], s.col)) >= least)
		worth++;
	return worth;
}

void table_keep(struct table *t, const struct report *r)
{
	struct sort s;

	if (!r->limit || (t->story && !r->limited) || sort_choose(t, r->sort, &s))
		return;
	t->keep = r->limit;
	t->keep_col = s.col;
	t->keep_sort = r->sort;
}

static int index_compare(const void *pa, const void *pb)
{
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;

	return (a > b) - (a < b);
}

/* What is left stays in the order it was filled in. */
static void table_prune(struct table *t)
{
	_cleanup_free_ size_t *order = reallocarray(NULL, t->n_rows, sizeof(*order));

	if (!order)
		return;
	table_order(t, t->keep_sort, order);
	t->worst = *table_cell(t, order[t->keep - 1], t->keep_col);
	qsort(order, t->keep, sizeof(*order), index_compare);
	for (size_t i = 0; i < t->keep; i++)
		memmove(table_cell(t, i, 0), table_cell(t, order[i], 0),
			t->n_cols * sizeof(struct cell));
	t->n_cut += t->n_rows - t->keep;
	t->n_rows = t->keep;
	t->cells.n = t->keep * t->n_cols;
}

/* Of two that are equal the first stays. */
bool table_takes(struct table *t, const struct cell *c)
{
	struct sort s;

	if (!t->worst.type || sort_choose(t, t->keep_sort, &s) ||
		cells_order(c, &t->worst, s.ascending) < 0)
		return true;
	t->n_cut++;
	return false;
}

struct cell *table_row(struct table *t)
{
	struct cell *row;

	if (t->keep && t->n_rows >= 4 * t->keep + KEEP_MORE)
		table_prune(t);
	if (vec_reserve(&t->cells, t->n_cols)) {
		t->failed = true;
		return NULL;
	}
	row = t->cells.v + t->cells.n;
	memset(row, 0, t->n_cols * sizeof(*row));
	t->cells.n += t->n_cols;
	t->n_rows++;
	return row;
}

size_t table_arrange(struct table *t, const char *sort, u32 limit)
{
	size_t keep = limit && limit < t->n_rows ? limit : t->n_rows;
	_cleanup_free_ size_t *order = reallocarray(NULL, t->n_rows, sizeof(*order));
	struct cell *cells = reallocarray(NULL, keep * t->n_cols, sizeof(*cells));
	size_t cut = t->n_rows - keep;

	if (!order || !cells) {
		free(cells);
		return 0;
	}
	table_order(t, sort, order);
	for (size_t i = 0; i < keep; i++)
		memcpy(cells + i * t->n_cols, table_cell(t, order[i], 0),
			t->n_cols * sizeof(*cells));
	free(t->cells.v);
	t->cells.v = cells;
	t->cells.n = t->cells.cap = keep * t->n_cols;
	t->n_rows = keep;
	t->n_cut += cut;
	return cut;
}
