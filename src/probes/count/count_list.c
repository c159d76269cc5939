/* See count_list.h. Counts nothing: it reads what tracefs says of each event. */
#include "probes/count/count_list.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "analysis/cells.h"
#include "probes/count/count_events.h"
#include "probes/count/count_opts.h"

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

CELL_EXPR(event_cell, struct event, cell_text(report_text(r, "%s", e->name)))
CELL_WORDS(fields_cell, struct event, fields_add(&s, row->view, e))

static const struct cell_column columns[] = {
	CELL_BY(0, "event", "EVENT", CELL_TEXT, UNIT_NONE, 0, "as it is given to count",
		event_cell),
	CELL_BY(0, "fields", "FIELDS", CELL_TEXT, UNIT_NONE, COL_WHOLE,
		"with --list: its own fields, for --by, --filter, --hist and --sum", fields_cell),
};

static const struct view_table tables[] = {
	CELLS_VIEW("list", columns),
	{},
};

static void list_report(void *state, struct report *r)
{
	const struct event_list *all = state;
	struct table *t = cells_table(r, "list", NULL, columns, ARRAY_SIZE(columns));

	cells_each(t, r, columns, &all->list, all);
}

static int list_run(void *state, const struct action_task *t, struct err *err)
{
	const struct request *r = t->request;
	int rc = 0;

	if (r->command || r->input || r->record)
		return err_set(err, -EINVAL,
			"--list counts nothing: it takes no command and no recording");
	if (!r->n_operands) {
		err_set(err, -EINVAL, "--list needs a name: CATEGORY:NAME, with * for any part");
		return err_hint(err, "memwhy count --list 'kmem:*'");
	}
	for (u32 i = 0; i < r->n_operands && !rc; i++)
		rc = event_list_add(state, r->operands[i], err);
	return rc;
}

static bool list_wanted(const struct request *r, const void *opts)
{
	(void)r;
	return ((const struct count_opts *)opts)->list;
}

static void list_free(void *state)
{
	event_list_free(state);
}

const struct probe_action count_list = {
	.name = "count",
	.tables = (const struct view_table *const[]){tables, NULL},
	.size = sizeof(struct event_list),
	.bare = true,
	.wanted = list_wanted,
	.run = list_run,
	.report = list_report,
	.free = list_free,
};
