/* See count_list.h. Counts nothing: it reads what tracefs says of each event. */
#include "cmd/count_list.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cmd/output.h"
#include "probes/count/count_events.h"

enum { L_EVENT, L_FIELDS, L_N };

static const struct column columns[L_N] = {
	[L_EVENT] = {"event", "EVENT", CELL_TEXT, UNIT_NONE, 0, "as it is given to count"},
	[L_FIELDS] = {"fields", "FIELDS", CELL_TEXT, UNIT_NONE, COL_WHOLE,
		"with --list: its own fields, for --by, --filter, --hist and --sum"},
};

static const struct view_table tables[] = {
	{"list", columns, L_N, sizeof(columns[0])},
	{},
};

const struct view_table *const *count_list_tables(const char *command)
{
	static const struct view_table *const all[] = {tables, NULL};

	return strcmp(command, "count") ? NULL : all;
}

static void fields_add(struct str *out, const struct event_list *all, const struct event *e)
{
	_cleanup_tracepoint_format_ struct tracepoint_format format = {};

	if (e->how != CLONE_TRACEPOINT ||
		tracepoint_format_read(all->dir, e->category, e->what, &format))
		return;
	vec_each (f, &format.fields)
		if (!f->is_common)
			str_addf(out, "%s%s", out->len ? ", " : "", f->name);
}

static void list_fill(struct report *r, const struct event_list *all)
{
	struct table *t = report_table(r, "list", NULL, columns, L_N);

	table_each (row, t, e, &all->list) {
		_cleanup_str_ struct str fields = {};

		fields_add(&fields, all, e);
		row[L_EVENT] = cell_text(report_text(r, "%s", e->name));
		row[L_FIELDS] = fields.len
					? cell_text(report_textn(r, str_get(&fields), fields.len))
					: (struct cell){};
	}
}

static int events_find(const struct options *o, struct event_list *all, struct err *err)
{
	int rc = 0;

	if (!o->n_operands) {
		err_set(err, -EINVAL, "--list needs a name: CATEGORY:NAME, with * for any part");
		return err_hint(err, "memwhy count --list 'kmem:*'");
	}
	for (int i = 0; i < o->n_operands && !rc; i++)
		rc = event_list_add(all, o->operands[i], err);
	return rc;
}

static int list_run(const struct options *o, struct event_list *all, struct err *err)
{
	struct output out = {};
	struct stream stream;
	struct report r;
	int rc = events_find(o, all, err);

	rc = rc ? rc : output_open(o, &out, err);
	rc = rc ? rc : stream_init(&stream);
	if (rc)
		return rc;
	report_init(&r, "count", &stream);
	output_select(&out, o, &r);
	if (o->limit == UINT64_MAX)
		r.limit = 0;
	if (!strcmp(o->format, "text") || !strcmp(o->format, "wide"))
		out.ro.quiet = true; /* nothing was looked at: there is no header */
	list_fill(&r, all);
	rc = report_check(&r, err);
	rc = rc ? rc : output_report(&out, &r, err);
	report_destroy(&r);
	stream_destroy(&stream);
	if (out.file && output_close(&out, err) && !rc)
		rc = -EIO;
	return rc;
}

int count_list(const struct command *cmd, struct options *o)
{
	struct event_list all = {};
	struct err err = {};
	int rc;

	if (o->argv || o->input || o->record) {
		err_set(&err, -EINVAL,
			"--list counts nothing: it takes no command and no recording");
		rc = err.code;
	} else {
		rc = list_run(o, &all, &err);
	}
	event_list_free(&all);
	if (!rc)
		return STATUS_DONE;
	if (!err.code)
		err_errno(&err, rc, "%s", cmd->name);
	command_error(&err);
	return command_status(rc);
}
