/* Whether --fields, --sort and --table name something that is in the report. See report.h. */
#include <string.h>

#include "base/closest.h"
#include "report/report.h"

typedef VEC(const char *) names_vec;

static bool names_have(const names_vec *names, const char *name)
{
	vec_each (n, names)
		if (!strcmp(*n, name))
			return true;
	return false;
}

static bool table_chosen(const struct report *r, const struct table *t)
{
	return !r->only || !strcmp(r->only, t->name);
}

static bool column_sorts(const struct column *c)
{
	return c->type != CELL_STACK;
}

static void names_of_columns(const struct report *r, bool sortable, names_vec *names)
{
	vec_each (t, &r->tables) {
		for (size_t i = 0; table_chosen(r, *t) && i < (*t)->n_cols; i++) {
			const struct column *c = &(*t)->cols[i];

			if ((!sortable || column_sorts(c)) && !names_have(names, c->name))
				vec_push(names, c->name);
		}
	}
}

static int name_unknown(const char *option, const char *what, const char *name,
	const names_vec *names, struct err *err)
{
	const char *near = closest(name, names->v, names->n);
	_cleanup_str_ struct str valid = {};
	int rc;

	vec_each (n, names)
		str_addf(&valid, "%s%s", valid.len ? ", " : "", *n);
	if (near)
		rc = err_set(err, -EINVAL, "%s: no %s '%s' here; did you mean '%s'?", option, what,
			name, near);
	else
		rc = err_set(err, -EINVAL, "%s: no %s '%s' here", option, what, name);
	if (names->n)
		err_hint(err, "valid: %s", str_get(&valid));
	return rc;
}

static int check_table(const struct report *r, struct err *err)
{
	names_vec names = {};
	int rc = 0;

	if (!r->only)
		return 0;
	vec_each (t, &r->tables)
		vec_push(&names, (*t)->name);
	if (!names_have(&names, r->only))
		rc = name_unknown("--table", "table", r->only, &names, err);
	vec_free(&names);
	return rc;
}

static int check_fields(const struct report *r, struct err *err)
{
	_cleanup_free_ char *copy = r->fields ? strdup(r->fields) : NULL;
	char *rest = copy, *name;
	names_vec names = {};
	int rc = 0;

	if (!r->fields)
		return 0;
	names_of_columns(r, false, &names);
	while (!rc && (name = strsep(&rest, ",")))
		if (!names_have(&names, name))
			rc = name_unknown("--fields", "column", name, &names, err);
	vec_free(&names);
	return rc;
}

static int check_sort(const struct report *r, struct err *err)
{
	const char *name = r->sort ? r->sort + (r->sort[0] == '-') : NULL;
	names_vec names = {};
	int rc = 0;

	if (!name)
		return 0;
	names_of_columns(r, true, &names);
	if (!names_have(&names, name))
		rc = name_unknown("--sort", "column to sort by", name, &names, err);
	vec_free(&names);
	return rc;
}

int report_check(const struct report *r, struct err *err)
{
	int rc = check_table(r, err);

	if (!rc)
		rc = check_fields(r, err);
	return rc ? rc : check_sort(r, err);
}

bool report_has_stacks(const struct report *r)
{
	vec_each (t, &r->tables)
		for (size_t i = 0; table_chosen(r, *t) && i < (*t)->n_cols; i++)
			if ((*t)->cols[i].type == CELL_STACK)
				return true;
	return false;
}
