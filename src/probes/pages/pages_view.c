/* See pages_view.h: which tables there are, and single events. */
#include "probes/pages/pages_view.h"

#include <errno.h>
#include <string.h>

#include "probes/pages/pages_tables.h"

struct pages_state {
	bool held; /* `pages held` */
	struct by_sums allocations, frees;
	struct pages_cpus cpus;
	struct pages_kept kept;
	VEC(struct pages_failure) failures;
};

static const struct cell_column each_columns[] = {
	CELL_FROM(0, struct pages_failure, h.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"since the start", cell_of_time),
	CELL_NUMBER(struct pages_failure, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_NUMBER(struct pages_failure, tid, "tid", "TID", UNIT_ID, COL_WIDE, "thread id"),
	CELL_FROM(0, struct pages_failure, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the thread", cell_of_comm),
	CELL_NUMBER(struct pages_failure, order, "order", "ORDER", UNIT_ID, 0,
		"2^order pages were asked for"),
	CELL_FROM(0, struct pages_failure, migratetype, "migratetype", "TYPE", CELL_TEXT, UNIT_NONE,
		0, "migratetype that was asked for", pages_type_cell),
	CELL_FROM(0, struct pages_failure, gfp, "gfp", "GFP", CELL_TEXT, UNIT_NONE, 0,
		"allocation flags", gfp_cell),
	CELL_STACK_OF(struct pages_failure, ustack, "code path that asked for the page"),
};

static const struct view_table each_tables[] = {
	CELLS_VIEW("failure", each_columns),
	{},
};

static int operands_take(struct pages_state *p, const struct view_options *o, struct err *err)
{
	for (u32 i = 0; i < o->n_operands; i++) {
		if (strcmp(o->operands[i], "held") != 0) {
			err_set(err, -EINVAL, "pages: '%.40s' is not expected here",
				o->operands[i]);
			return err_hint(err, "'memwhy pages held' follows pages until their free");
		}
		p->held = true;
	}
	if (p->held && o->each)
		return err_set(err, -EINVAL, "pages held has no single events (--each)");
	return 0;
}

static int pages_init(void *state, const struct view_options *o, struct err *err)
{
	struct pages_state *p = state;
	struct view_options frees = *o;
	int rc = operands_take(p, o, err);

	/* the order of batched frees is not told, so it parts the table only when asked for */
	if (!frees.by)
		frees.by = "process";
	if (!rc)
		rc = by_sums_init(&p->allocations, &pages_alloc_spec, &pages_view, o, err);
	if (!rc)
		rc = by_sums_init(&p->frees, &pages_free_spec, &pages_view, &frees, err);
	if (!rc)
		rc = pages_kept_init(&p->kept, &pages_view, o, err);
	pages_cpus_init(&p->cpus);
	return rc;
}

static int pages_feed(void *state, const struct rec *r)
{
	struct pages_state *p = state;
	int rc = 0;

	if (r->kind == REC_PAGES_ALLOC)
		rc = pages_alloc_feed(&p->allocations, (const struct pages_alloc *)r);
	else if (r->kind == REC_PAGES_FREE)
		rc = pages_free_feed(&p->frees, (const struct pages_free *)r);
	else if (r->kind == REC_PAGES_FAILURE)
		rc = vec_push(&p->failures, *(const struct pages_failure *)r);
	else
		rc = pages_cpus_feed(&p->cpus, r);
	return rc || !p->held ? rc : pages_kept_feed(&p->kept, r);
}

static int pages_report(void *state, struct report *r)
{
	struct pages_state *p = state;
	double seconds = pages_cpus_seconds(&p->cpus, r);
	int rc;

	if (p->held)
		return pages_kept_report(&p->kept, r);
	rc = pages_alloc_report(&p->allocations, seconds, r);
	if (!rc)
		rc = pages_free_report(&p->frees, seconds, r);
	return rc ? rc : pages_cpus_report(&p->cpus, r);
}

static struct table *pages_view_pages_each(void *state, struct report *r)
{
	struct pages_state *p = state;
	struct table *t = cells_table(r, "failure", "Page allocations that failed, each",
		each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &p->failures, NULL);
	p->failures.n = 0;
	return t;
}

static void pages_reset(void *state)
{
	struct pages_state *p = state;

	groups_clear(&p->allocations.groups);
	groups_clear(&p->frees.groups);
	pages_cpus_clear(&p->cpus);
	pages_kept_reset(&p->kept);
}

/* Pages may be held for longer than the task that asked for them lives. */
static bool pages_remembers(const void *state)
{
	return ((const struct pages_state *)state)->held;
}

static void pages_destroy(void *state)
{
	struct pages_state *p = state;

	by_sums_free(&p->allocations);
	by_sums_free(&p->frees);
	pages_cpus_free(&p->cpus);
	pages_kept_free(&p->kept);
	vec_free(&p->failures);
}

const struct view pages_view = {
	.size = sizeof(struct pages_state),
	.by_default = PAGES_BY_DEFAULT,
	.by_keys = pages_by_keys,
	.tables = (const struct view_table *const[]){pages_sum_tables, pages_cpu_tables,
		pages_kept_tables, each_tables, NULL},
	.init = pages_init,
	.feed = pages_feed,
	.report = pages_report,
	.each = pages_view_pages_each,
	.reset = pages_reset,
	.remembers = pages_remembers,
	.destroy = pages_destroy,
};
