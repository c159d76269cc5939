/* See by.h. */
#include "analysis/by.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

static int key_find(const char *word, size_t n, const char *const *keys)
{
	for (int i = 0; keys[i]; i++)
		if (strlen(keys[i]) == n && !strncmp(keys[i], word, n))
			return i;
	return -ENOENT;
}

static int by_unknown(const char *word, size_t n, const char *const *keys, struct err *err)
{
	_cleanup_str_ struct str all = {};

	for (int i = 0; keys[i]; i++)
		str_addf(&all, "%s%s", i ? ", " : "", keys[i]);
	err_set(err, -EINVAL, "--by: '%.*s' is not something this command counts by",
		(int)MIN(n, 40UL), word);
	return err_hint(err, "--by takes: %s", str_get(&all));
}

/* Bit i of *ret for each keys[i] that stands in the comma-separated text. */
static int by_parse(const char *text, const char *const *keys, u32 *ret, struct err *err)
{
	u32 mask = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		int i = key_find(p, n, keys);

		if (i < 0)
			return by_unknown(p, n, keys, err);
		mask |= 1U << i;
		p += n;
		p += *p == ',';
	}
	*ret = mask;
	return 0;
}

static void by_columns_choose(struct by_sums *s, const struct by_spec *spec)
{
	for (size_t i = 0; i < spec->n_columns && i < BY_COLUMNS; i++) {
		const struct cell_column *c = &spec->cells[i];

		if (c->keys && !(c->keys & s->by))
			continue;
		s->index[s->n_cols] = i;
		s->cols[s->n_cols++] = c->col;
	}
}

int by_sums_init(struct by_sums *s, const struct by_spec *spec, const struct view *v,
	const struct view_options *o, struct err *err)
{
	int rc = by_parse(o->by ? o->by : v->by_default, v->by_keys, &s->by, err);

	if (rc)
		return rc;
	if (o->stacks)
		s->by |= BY_STACK;
	s->n_cols = 0;
	s->cells = spec->cells;
	s->shows = spec->shows;
	groups_init(&s->groups, spec->key_size, spec->value_size);
	by_columns_choose(s, spec);
	return 0;
}

struct table *by_sums_table(
	struct by_sums *s, struct report *r, const char *name, const char *title)
{
	return report_table(r, name, title, s->cols, s->n_cols);
}

int by_sums_row(const struct by_sums *s, struct report *r, struct table *t, const void *key,
	const void *sums, const void *view)
{
	const struct row_of of = {s->by, key, sums, view};
	const struct cell_column *kept = &s->cells[s->index[t->keep_col]];
	struct cell *row, sorted;

	if (s->shows && !s->shows(&of))
		return 0;
	if (t->keep) {
		sorted = kept->get(r, &of, kept->offset);
		if (!table_takes(t, &sorted))
			return 0;
	}
	row = table_row(t);
	if (!row)
		return -ENOMEM;
	for (size_t k = 0; k < s->n_cols; k++) {
		const struct cell_column *c = &s->cells[s->index[k]];

		row[k] = c->get(r, &of, c->offset);
	}
	return 0;
}

int by_sums_rows(const struct by_sums *s, struct report *r, struct table *t, const void *view)
{
	int rc = 0;

	for (size_t i = 0; i < s->groups.n && !rc; i++)
		rc = by_sums_row(
			s, r, t, groups_key(&s->groups, i), groups_value(&s->groups, i), view);
	return rc;
}

struct table *by_sums_show_with(
	struct by_sums *s, struct report *r, const char *name, const char *title, const void *view)
{
	struct table *t = by_sums_table(s, r, name, title);

	return t && !by_sums_rows(s, r, t, view) ? t : NULL;
}

struct table *by_sums_show(struct by_sums *s, struct report *r, const char *name, const char *title)
{
	return by_sums_show_with(s, r, name, title, NULL);
}

void by_sums_free(struct by_sums *s)
{
	groups_free(&s->groups);
}

struct by_task_key by_task_key(
	u32 by, u32 tgid, u32 tid, u64 cgroup, u32 stack, const char comm[COMM_LEN])
{
	struct by_task_key k = {};

	if (by & BY_TASKS)
		k.tgid = tgid;
	if (by & BY_THREAD)
		k.tid = tid;
	if (by & BY_COMM)
		memcpy(k.comm, comm, sizeof(k.comm));
	if (by & BY_CGROUP)
		k.cgroup = cgroup;
	if (by & BY_STACK)
		k.stack = stack;
	return k;
}

CELL_GET(by_pid_cell)
{
	return cell_u64(((const struct by_task_key *)row->key)->tgid);
}

CELL_GET(by_tid_cell)
{
	return cell_u64(((const struct by_task_key *)row->key)->tid);
}

CELL_GET(by_comm_cell)
{
	const struct by_task_key *k = row->key;

	return cell_text(row->by & BY_TASKS  ? stream_comm(r->stream, k->tgid, k->tid)
			 : row->by & BY_COMM ? report_textn(r, k->comm, COMM_LEN)
					     : "");
}

CELL_GET(by_cgroup_cell)
{
	return cell_text(stream_cgroup(r->stream, ((const struct by_task_key *)row->key)->cgroup));
}

CELL_GET(by_stack_cell)
{
	return cell_stack(((const struct by_task_key *)row->key)->stack);
}
