/* See parts.h. */
#include "report/parts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/groups.h"
#include "report/role.h"

#define PART_LEAST_NS (NSEC_PER_SEC / 2) /* counts are read about once a second */
#define ENTRIES_MOST 200000              /* of a table; with more, parts become longer */

/* An entry is words[]: the key of its row, its part, and a number for each of cols. */
struct part_table {
	char *name;
	u64 shape; /* of its columns */
	VEC(size_t) cols;
	VEC(u64) words;
	bool failed; /* two reports have different columns of this name */
	struct table_parts fitted;
};

void parts_init(struct parts *p)
{
	*p = (struct parts){.least_ns = PART_LEAST_NS};
}

static void part_table_free(struct part_table *t)
{
	free(t->name);
	vec_free(&t->cols);
	vec_free(&t->words);
	vec_free(&t->fitted.cols);
	vec_free(&t->fitted.entries);
	vec_free(&t->fitted.first);
	free(t);
}

void parts_free(struct parts *p)
{
	vec_each (t, &p->tables)
		part_table_free(*t);
	vec_free(&p->tables);
	vec_free(&p->ends_ns);
	*p = (struct parts){};
}

static u64 shape_of(const struct table *t)
{
	u64 h = 0;

	for (size_t i = 0; i < t->n_cols; i++)
		h = XXH3_64bits_withSeed(t->cols[i].name, strlen(t->cols[i].name) + 1, h);
	return h;
}

static const struct cell *cell_named(const struct table *t, size_t row, const char *name)
{
	int col = table_column(t, name);

	return col < 0 ? NULL : table_cell(t, row, (size_t)col);
}

/* A task may have another name in a later part, a program that it starts: it goes by its number,
 * where it has one. */
static bool is_name_of_number(const struct table *t, size_t row, const char *name)
{
	static const struct {
		const char *name, *number;
	} pairs[] = {{"comm", "pid"}, {"comm", "tid"}, {"thread", "tid"}};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct cell *number =
			strcmp(name, pairs[i].name) ? NULL : cell_named(t, row, pairs[i].number);

		if (number && number->type != CELL_EMPTY)
			return true;
	}
	return false;
}

/* What a row is of. Two rows of the same are seen as such where they are fitted, and so are two
 * that only seem to be: then the numbers do not add up. */
static u64 report_parts_key_of(const struct table *t, size_t row)
{
	u64 h = 0;

	for (size_t i = 0; i < t->n_cols; i++) {
		const struct column *col = &t->cols[i];
		const struct cell *c = table_cell(t, row, i);
		bool of = column_role(col) == ROLE_KEY || col->unit == UNIT_ID;

		if (!of || col->flags & COL_HIDDEN || is_name_of_number(t, row, col->name))
			continue;
		h = XXH3_64bits_withSeed(&c->type, sizeof(c->type), h);
		if (c->type == CELL_TEXT)
			h = XXH3_64bits_withSeed(c->text, strlen(c->text) + 1, h);
		else if (c->type == CELL_STACK)
			h = XXH3_64bits_withSeed(&c->stack, sizeof(c->stack), h);
		else if (c->type != CELL_EMPTY)
			h = XXH3_64bits_withSeed(&c->u, sizeof(c->u), h);
	}
	return h;
}

static bool adds_up(const struct column *c)
{
	return c->type == CELL_U64 && column_role(c) == ROLE_SUM && !(c->flags & COL_LEVEL);
}

static struct part_table *part_table_find(const struct parts *p, const char *name)
{
	vec_each (t, &p->tables)
		if (!strcmp((*t)->name, name))
			return *t;
	return NULL;
}

static struct part_table *part_table_make(struct parts *p, const struct table *from)
{
	struct part_table *t = calloc(1, sizeof(*t));

	if (!t || vec_push(&p->tables, t)) {
		free(t);
		return NULL;
	}
	t->name = strdup(from->name);
	t->shape = shape_of(from);
	for (size_t i = 0; i < from->n_cols; i++)
		if (adds_up(&from->cols[i]) && vec_push(&t->cols, i))
			return NULL;
	return t->name ? t : NULL;
}

static size_t stride(const struct part_table *t)
{
	return 2 + t->cols.n;
}

static size_t n_entries(const struct part_table *t)
{
	return t->words.n / stride(t);
}

static int words_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	if (x[0] != y[0])
		return x[0] < y[0] ? -1 : 1;
	return (x[1] > y[1]) - (x[1] < y[1]);
}

/* Orders entries by row and part, of which there is one each then. */
static void squash(struct part_table *t)
{
	size_t n = stride(t), kept = 0;

	if (!t->words.n)
		return;
	qsort(t->words.v, n_entries(t), n * sizeof(u64), words_compare);
	for (size_t at = n; at < t->words.n; at += n) {
		u64 *last = t->words.v + kept, *next = t->words.v + at;

		if (words_compare(last, next)) {
			kept += n;
			memmove(t->words.v + kept, next, n * sizeof(u64));
			continue;
		}
		for (size_t i = 2; i < n; i++)
			last[i] += next[i];
	}
	t->words.n = kept + n;
}

/* Two parts become one. */
static void halve(struct parts *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->ends_ns.n; i++)
		if (i % 2 || i + 1 == p->ends_ns.n)
			p->ends_ns.v[kept++] = p->ends_ns.v[i];
	p->ends_ns.n = kept;
	p->least_ns *= 2;
	vec_each (t, &p->tables) {
		for (size_t at = 0; at < (*t)->words.n; at += stride(*t))
			(*t)->words.v[at + 1] /= 2;
		squash(*t);
	}
}

static bool is_crowded(const struct parts *p)
{
	vec_each (t, &p->tables)
		if (n_entries(*t) > ENTRIES_MOST)
			return true;
	return p->ends_ns.n > PARTS_MOST;
}

bool parts_due(const struct parts *p, const struct stream *s, u64 time_ns)
{
	u64 begin = s->session.h.time_ns, last = p->ends_ns.n ? p->ends_ns.v[p->ends_ns.n - 1] : 0;

	return !p->failed && s->has_session && time_ns > begin &&
	       time_ns - begin >= last + p->least_ns;
}

static int row_take(struct part_table *t, const struct table *from, size_t row, u64 part)
{
	size_t before = t->words.n;
	bool any = false;
	int rc = vec_push(&t->words, report_parts_key_of(from, row));

	if (!rc)
		rc = vec_push(&t->words, part);
	for (size_t i = 0; i < t->cols.n && !rc; i++) {
		const struct cell *c = table_cell(from, row, t->cols.v[i]);

		any |= c->type == CELL_U64 && c->u;
		rc = vec_push(&t->words, c->type == CELL_U64 ? c->u : 0);
	}
	if (!any)
		t->words.n = before;
	return rc;
}

static int table_take(struct parts *p, const struct table *from, u64 part)
{
	struct part_table *t = part_table_find(p, from->name);
	int rc = 0;

	if (!table_is_sums(from))
		return 0;
	t = t ? t : part_table_make(p, from);
	if (!t)
		return -1;
	t->failed |= t->shape != shape_of(from);
	for (size_t row = 0; row < from->n_rows && !t->failed && !rc; row++)
		rc = row_take(t, from, row, part);
	return rc;
}

void parts_take(struct parts *p, const struct report *part, u64 time_ns)
{
	u64 since = time_ns - part->stream->session.h.time_ns;

	vec_each (t, &part->tables)
		p->failed |= table_take(p, *t, p->ends_ns.n) != 0;
	p->failed |= vec_push(&p->ends_ns, since) != 0;
	while (is_crowded(p) && p->ends_ns.n > 1)
		halve(p);
}

/* The rows of a table by what they are of; false: two are of the same. */
static bool rows_index(const struct table *t, struct groups *ret)
{
	groups_init(ret, sizeof(u64), sizeof(u64));
	for (size_t row = 0; row < t->n_rows; row++) {
		u64 key = report_parts_key_of(t, row), *at = groups_get(ret, &key);

		if (!at || *at)
			return false;
		*at = row + 1;
	}
	return true;
}

/* Keys become rows. What is of rows that --limit left out goes. */
static bool rows_find(struct part_table *t, const struct table *whole, const struct groups *rows)
{
	size_t n = stride(t), kept = 0;

	for (size_t at = 0; at < t->words.n; at += n) {
		const u64 *row = groups_find(rows, &t->words.v[at]);

		if (!row && !whole->n_cut)
			return false;
		if (!row)
			continue;
		memmove(t->words.v + kept, t->words.v + at, n * sizeof(u64));
		t->words.v[kept] = *row - 1;
		kept += n;
	}
	t->words.n = kept;
	squash(t);
	return true;
}

/* Do the parts of each row add up to what it has in this column? */
static bool column_fits(const struct part_table *t, const struct table *whole, size_t i)
{
	size_t at = 0;

	for (size_t row = 0; row < whole->n_rows; row++) {
		const struct cell *c = table_cell(whole, row, t->cols.v[i]);
		u64 sum = 0;

		for (; at < t->words.n && t->words.v[at] == row; at += stride(t))
			sum += t->words.v[at + 2 + i];
		if (c->type == CELL_U64 ? c->u != sum : sum != 0)
			return false;
	}
	return true;
}

/* Which columns fit: indices of t->cols. */
static int columns_fit(struct part_table *t, const struct table *whole, size_t *ret, size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < t->cols.n; i++) {
		if (!column_fits(t, whole, i))
			continue;
		ret[(*ret_n)++] = i;
		if (vec_push(&t->fitted.cols, t->cols.v[i]))
			return -1;
	}
	return 0;
}

static int entries_fit(
	struct part_table *t, const struct table *whole, const size_t *cols, size_t n)
{
	struct table_parts *to = &t->fitted;
	size_t at = 0;
	int rc = 0;

	for (size_t row = 0; row < whole->n_rows && !rc; row++) {
		rc = vec_push(&to->first, to->entries.n);
		for (; at < t->words.n && t->words.v[at] == row && !rc; at += stride(t)) {
			rc = vec_push(&to->entries, t->words.v[at + 1]);
			for (size_t i = 0; i < n && !rc; i++)
				rc = vec_push(&to->entries, t->words.v[at + 2 + cols[i]]);
		}
	}
	return rc ? rc : vec_push(&to->first, to->entries.n);
}

/* Is anything known of the number to look at first? A table where it is nought throughout shows
 * levels, which would go with the rows. */
static bool has_main(const struct table_parts *t, const struct table *whole)
{
	size_t n = 1 + t->cols.n;
	int main = table_main_column(whole);

	for (size_t i = 0; i < t->cols.n; i++)
		for (size_t at = 1 + i; main == (int)t->cols.v[i] && at < t->entries.n; at += n)
			if (t->entries.v[at])
				return true;
	return false;
}

static void table_fit(struct parts *p, struct part_table *t, struct table *whole)
{
	_cleanup_free_ size_t *cols = reallocarray(NULL, t->cols.n + 1, sizeof(*cols));
	struct groups rows = {};
	size_t n;

	if (cols && rows_index(whole, &rows) && rows_find(t, whole, &rows) &&
		!columns_fit(t, whole, cols, &n) && !entries_fit(t, whole, cols, n) &&
		has_main(&t->fitted, whole)) {
		t->fitted.of = p;
		whole->parts = &t->fitted;
	}
	groups_free(&rows);
}

void parts_fit(struct parts *p, struct report *whole)
{
	if (p->failed || p->ends_ns.n < 2)
		return;
	vec_each (t, &whole->tables) {
		struct part_table *of = part_table_find(p, (*t)->name);

		if (of && !of->failed && !of->fitted.first.n && of->shape == shape_of(*t))
			table_fit(p, of, *t);
	}
}
