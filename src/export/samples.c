/* See samples.h. */
#include "export/samples.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "report/role.h"

#define NAMED_VALUES 5

/* Tables whose profiles have customary names. */
static const struct named {
	const char *table, *period, *unit, *main;
	struct {
		const char *column, *name, *unit;
	} values[NAMED_VALUES];
} named[] = {
	{"heap", "space", "bytes", "live_bytes",
		{{"allocations", "alloc_objects", "count"},
			{"allocated_bytes", "alloc_space", "bytes"},
			{"live_blocks", "inuse_objects", "count"},
			{"live_bytes", "inuse_space", "bytes"}}},
	{"stalls", "delay", "nanoseconds", "total_ns",
		{{"total_ns", "delay", "nanoseconds"}, {"count", "stalls", "count"}}},
	{"faults", "faults", "count", "count",
		{{"total_ns", "delay", "nanoseconds"}, {"major", "major", "count"},
			{"count", "faults", "count"}}},
};

static const char *unit_name(const struct column *c)
{
	switch (c->unit) {
	case UNIT_BYTES:
		return "bytes";
	case UNIT_NS:
		return "nanoseconds";
	case UNIT_PAGES:
		return "pages";
	default:
		return "count";
	}
}

/* The unit is said apart: "allocated_bytes" is "allocated". */
static void value_name(const struct column *c, char ret[40])
{
	static const char *const units[] = {"_bytes", "_ns", "_pages"};
	size_t n = strlen(c->name);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t len = strlen(units[i]);

		if (n > len && !strcmp(c->name + n - len, units[i])) {
			n -= len;
			break;
		}
	}
	snprintf(ret, 40, "%.*s", (int)MIN(n, 39UL), c->name);
}

static bool samples_is_number(const struct column *c)
{
	return c->type == CELL_U64 || c->type == CELL_S64 || c->type == CELL_F64;
}

static void samples_value_add(struct samples *s, size_t col, const char *name, const char *unit)
{
	const struct column *c = &s->slice->t->cols[col];
	struct sample_value *v = &s->values[s->n_values];

	if (s->n_values == SAMPLE_VALUES)
		return;
	v->col = col;
	v->unit = unit ? unit : unit_name(c);
	if (name)
		snprintf(v->name, sizeof(v->name), "%s", name);
	else
		value_name(c, v->name);
	s->n_values++;
}

static const struct named *named_find(const struct table *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if (!strcmp(named[i].table, t->name))
			return &named[i];
	return NULL;
}

/* False: the table is not as it is known. */
static bool values_named(struct samples *s, const struct named *n)
{
	const struct table *t = s->slice->t;

	for (size_t i = 0; i < NAMED_VALUES && n->values[i].column; i++) {
		int col = table_column(t, n->values[i].column);

		if (col < 0)
			continue;
		if (!strcmp(n->values[i].column, n->main))
			s->main = s->n_values;
		samples_value_add(s, (size_t)col, n->values[i].name, n->values[i].unit);
	}
	if (!s->n_values)
		return false;
	s->period = n->period;
	s->period_unit = n->unit;
	return true;
}

/* Of a comparison, what changed. */
static int main_column(const struct table *t)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (t->cols[i].flags & COL_CHANGE && column_role(&t->cols[i]) == ROLE_SUM)
			return (int)i;
	return table_main_column(t);
}

/* All that add up, the one to look at first last: viewers take the last one. */
static void values_summed(struct samples *s)
{
	const struct table *t = s->slice->t;
	int main = main_column(t);

	for (size_t i = 0; i < t->n_cols; i++)
		if ((int)i != main && column_role(&t->cols[i]) == ROLE_SUM)
			samples_value_add(s, i, NULL, NULL);
	if (main < 0 || column_role(&t->cols[main]) != ROLE_SUM)
		main = table_count_column(t);
	if (s->n_values == SAMPLE_VALUES)
		s->n_values--;
	if (main >= 0)
		samples_value_add(s, (size_t)main, NULL, NULL);
	s->main = s->n_values ? s->n_values - 1 : 0;
}

/* The numbers that --fields names, in that order. */
static void values_asked(struct samples *s)
{
	for (size_t i = 0; i < s->slice->n_cols; i++)
		if (samples_is_number(slice_column(s->slice, i)) &&
			column_role(slice_column(s->slice, i)) == ROLE_SUM)
			samples_value_add(s, s->slice->cols[i], NULL, NULL);
}

static void values_choose(const struct report *r, struct samples *s)
{
	const struct named *n = named_find(s->slice->t);

	if (r->fields)
		values_asked(s);
	if (!s->n_values && !(n && values_named(s, n)))
		values_summed(s);
	if (!s->n_values)
		return;
	s->period = s->period ? s->period : s->values[s->main].name;
	s->period_unit = s->period_unit ? s->period_unit : s->values[s->main].unit;
}

static bool is_label(const struct column *c)
{
	return c->type != CELL_STACK && (column_role(c) == ROLE_KEY || !strcmp(c->name, "pid") ||
						!strcmp(c->name, "tid") || c->unit == UNIT_CGROUP);
}

static void labels_choose(struct samples *s)
{
	const struct table *t = s->slice->t;

	for (size_t i = 0; i < t->n_cols && s->n_labels < SAMPLE_LABELS; i++)
		if (is_label(&t->cols[i]))
			s->labels[s->n_labels++] = i;
	s->pid = table_column(t, "pid");
	s->tid = table_column(t, "tid");
}

static int stack_column(const struct table *t)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (t->cols[i].type == CELL_STACK)
			return (int)i;
	return -1;
}

static bool is_of_samples(const struct table *t)
{
	return stack_column(t) >= 0 && table_main_column(t) >= 0;
}

int samples_open(const struct report *r, struct samples *ret)
{
	int rc;

	*ret = (struct samples){.stream = r->stream, .pid = -1, .tid = -1};
	rc = slices_open(r, 0, &ret->slices);
	if (rc)
		return rc;
	vec_each (v, &ret->slices.v)
		if (!ret->slice && is_of_samples(v->t))
			ret->slice = v;
	if (!ret->slice)
		return 0;
	ret->stack = (size_t)stack_column(ret->slice->t);
	values_choose(r, ret);
	labels_choose(ret);
	if (!ret->n_values)
		ret->slice = NULL;
	return 0;
}

void samples_close(struct samples *s)
{
	slices_close(&s->slices);
	s->slice = NULL;
}

const struct cell *samples_cell(const struct samples *s, size_t row, size_t col)
{
	return table_cell(s->slice->t, s->slice->rows[row], col);
}

u32 samples_stack(const struct samples *s, size_t row)
{
	const struct cell *c = samples_cell(s, row, s->stack);

	return c->type == CELL_STACK ? c->stack : 0;
}

s64 samples_value(const struct samples *s, size_t row, size_t value)
{
	const struct cell *c = samples_cell(s, row, s->values[value].col);

	switch (c->type) {
	case CELL_U64:
		return (s64)MIN(c->u, (u64)INT64_MAX);
	case CELL_S64:
		return c->s;
	case CELL_F64:
		if (c->f > -9e18 && c->f < 9e18)
			return (s64)(c->f + (c->f < 0 ? -0.5 : 0.5));
		return c->f > 0 ? INT64_MAX : c->f < 0 ? INT64_MIN : 0; /* not a number: 0 */
	default:
		return 0;
	}
}

bool samples_is_positive(const struct samples *s, size_t value)
{
	for (size_t row = 0; row < s->slice->n_rows; row++)
		if (samples_value(s, row, value) < 0)
			return false;
	return true;
}
