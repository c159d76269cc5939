/* See role.h. */
#include "report/role.h"

#include <string.h>

/* Is `word` one of the words of a name, which "_" joins? */
static bool name_has(const char *name, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = name; p; p = strchr(p, '_')) {
		p += *p == '_';
		if (!strncmp(p, word, n) && (!p[n] || p[n] == '_'))
			return true;
	}
	return false;
}

static bool name_has_any(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (name_has(name, *words))
			return true;
	return false;
}

static enum role number_role(const struct column *c)
{
	static const char *const single[] = {"mean", "avg", "average", "p50", "p99", "per",
		"latency", "index", "ratio", "rate", "size", "class", "object", NULL};

	if (!strcmp(c->name, "time_ns")) /* when it was: no amount of anything */
		return ROLE_NONE;
	if (name_has(c->name, "error"))
		return ROLE_ERROR;
	if (c->unit == UNIT_RATIO || c->unit == UNIT_PERMILLE || name_has_any(c->name, single))
		return ROLE_SINGLE;
	if (name_has(c->name, "max"))
		return ROLE_MOST;
	return name_has(c->name, "min") || name_has(c->name, "lowest") ? ROLE_LEAST : ROLE_SUM;
}

/* A number that is a name: the same thing has it again in another run? */
static bool id_lasts(const char *name)
{
	static const char *const of_a_run[] = {"pid", "tid", "dump", "object", NULL};

	return !name_has_any(name, of_a_run);
}

enum role column_role(const struct column *c)
{
	/* what a row is of is shown with it */
	bool aside = c->flags & (COL_ASIDE | COL_WIDE | COL_BELOW | COL_WHOLE);

	if (c->flags & COL_HIDDEN)
		return ROLE_NONE;
	if (c->type == CELL_STACK || c->flags & COL_KEY)
		return ROLE_KEY;
	switch (c->type) {
	case CELL_TEXT:
		return aside || name_has(c->name, "address") ? ROLE_NONE : ROLE_KEY;
	case CELL_U64:
	case CELL_S64:
	case CELL_F64:
		if (c->unit == UNIT_ID)
			return !aside && id_lasts(c->name) ? ROLE_KEY : ROLE_NONE;
		return c->unit == UNIT_HEX ? ROLE_NONE : number_role(c);
	default:
		return ROLE_NONE;
	}
}

/* "live_error_bytes" without its "_error" is "live_bytes". */
static bool is_error_of(const char *error, const char *name)
{
	const char *at = strstr(error, "_error");
	size_t n = at ? (size_t)(at - error) : 0;

	return at && !strncmp(error, name, n) && !strcmp(at + strlen("_error"), name + n);
}

int table_error_column(const struct table *t, size_t col)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (is_error_of(t->cols[i].name, t->cols[col].name))
			return (int)i;
	return -ENOENT;
}

bool table_is_sums(const struct table *t)
{
	return (!t->story || t->lasts) && !t->nested && table_column(t, "time_ns") < 0 &&
	       table_main_column(t) >= 0;
}

static bool is_value(const struct table *t, int col)
{
	return col >= 0 && role_is_value(column_role(&t->cols[col]));
}

int table_main_column(const struct table *t)
{
	int sorted = t->sort ? table_column(t, t->sort + (t->sort[0] == '-')) : -ENOENT;
	int first = -ENOENT;

	if (is_value(t, sorted))
		return sorted;
	for (size_t i = t->n_cols; i-- > 0;) {
		if (!is_value(t, (int)i))
			continue;
		if (t->cols[i].flags & COL_WEIGHT)
			return (int)i;
		first = (int)i;
	}
	return first;
}

static bool is_count(const struct column *c)
{
	return column_role(c) == ROLE_SUM && c->unit != UNIT_NS;
}

int table_count_column(const struct table *t)
{
	int main = table_main_column(t), first = -ENOENT;

	if (main < 0 || is_count(&t->cols[main]))
		return main;
	for (size_t i = t->n_cols; i-- > 0;) {
		if (!is_count(&t->cols[i]))
			continue;
		if (!strcmp(t->cols[i].name, "count"))
			return (int)i;
		first = (int)i;
	}
	return first < 0 ? main : first;
}
