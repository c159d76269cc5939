/* See frag_events.h. */
#include "probes/frag/frag_events.h"

#include <errno.h>
#include <string.h>

const char *const events_by_keys[] = {BY_TASK_KEYS, "order", "migratetype", "severity", NULL};

enum { BY_ORDER = BY_OWN, BY_MIGRATETYPE = BY_OWN << 1, BY_SEVERITY = BY_OWN << 2 };

struct key {
	struct by_task_key task;
	u8 order, fallback_order;
	u8 migratetype, fallback_migratetype;
	u8 severity;
	u8 reserved[3];
};

enum severity { SEVERITY_UNKNOWN, SEVERITY_MILD, SEVERITY_SEVERE };

struct sums {
	u64 count;
	u64 rated, severe;     /* with a known severity; of these, severe */
	u64 detailed, claimed; /* where it is known whether the pageblock was claimed */
};

enum {
	C_ORDER = BY_C_OWN,
	C_FALLBACK,
	C_FOR,
	C_FROM,
	C_SEVERITY,
	C_COUNT,
	C_SEVERE,
	C_CLAIMED,
	C_STACK,
	C_N,
};

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_ORDER] = {BY_ORDER, {"order", "ORDER", CELL_U64, UNIT_ID, 0, "order of the allocation"}},
	[C_FALLBACK] = {BY_ORDER, {"fallback_order", "BLOCK", CELL_U64, UNIT_ID, 0,
					  "order of the free block it was cut from"}},
	[C_FOR] = {BY_MIGRATETYPE,
		{"migratetype", "FOR", CELL_TEXT, UNIT_NONE, 0, "migratetype asked for"}},
	[C_FROM] = {BY_MIGRATETYPE, {"fallback_migratetype", "TAKEN FROM", CELL_TEXT, UNIT_NONE, 0,
					    "migratetype of the free block"}},
	[C_SEVERITY] = {BY_SEVERITY, {"severity", "SEVERITY", CELL_TEXT, UNIT_NONE, 0,
					     "severe: the block was smaller than a pageblock, so "
					     "two types share one; or mild"}},
	[C_COUNT] = {0, {"count", "EVENTS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
				"allocations that took a block of another migratetype (exact)"}},
	[C_SEVERE] = {0, {"severe", "SEVERE", CELL_U64, UNIT_COUNT, 0,
				 "of these, from a block smaller than a pageblock"}},
	[C_CLAIMED] = {0, {"claimed", "CLAIMED", CELL_U64, UNIT_COUNT, 0,
				  "of all, the pageblock changed to the migratetype asked for"}},
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that asked for the page"}},
};

enum {
	E_TIME,
	E_PID,
	E_TID,
	E_COMM,
	E_ORDER,
	E_FALLBACK,
	E_FOR,
	E_FROM,
	E_SEVERITY,
	E_CLAIMED,
	E_NODE,
	E_ZONE,
	E_PFN,
	E_STACK,
	E_N,
};

static const struct column each_columns[E_N] = {
	[E_TIME] = {"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "since the start"},
	[E_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	[E_TID] = {"tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "thread id"},
	[E_COMM] = {"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread"},
	[E_ORDER] = {"order", "ORDER", CELL_U64, UNIT_ID, 0, "order of the allocation"},
	[E_FALLBACK] = {"fallback_order", "BLOCK", CELL_U64, UNIT_ID, 0,
		"order of the free block it was cut from"},
	[E_FOR] = {"migratetype", "FOR", CELL_TEXT, UNIT_NONE, 0, "migratetype asked for"},
	[E_FROM] = {"fallback_migratetype", "TAKEN FROM", CELL_TEXT, UNIT_NONE, 0,
		"migratetype of the free block"},
	[E_SEVERITY] = {"severity", "SEVERITY", CELL_TEXT, UNIT_NONE, 0,
		"severe: the block was smaller than a pageblock; or mild"},
	[E_CLAIMED] = {"claimed", "CLAIMED", CELL_BOOL, UNIT_NONE, 0,
		"the pageblock changed to the migratetype asked for"},
	[E_NODE] = {"node", "NODE", CELL_U64, UNIT_ID, COL_WIDE, "NUMA node of the page"},
	[E_ZONE] = {"zone", "ZONE", CELL_TEXT, UNIT_NONE, COL_WIDE, "zone of the page"},
	[E_PFN] = {"pfn", "PFN", CELL_U64, UNIT_HEX, COL_WIDE, "frame number of the page"},
	[E_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"code path that asked for the page"},
};

static const struct by_spec spec = BY_SPEC(columns, struct key, struct sums);

int events_init(
	struct events *e, const struct view *v, const struct view_options *o, struct err *err)
{
	return by_sums_init(&e->sums, &spec, v, o, err);
}

static enum severity severity_of(const struct events *e, u8 fallback_order)
{
	if (!e->pageblock_order)
		return SEVERITY_UNKNOWN;
	return fallback_order < e->pageblock_order ? SEVERITY_SEVERE : SEVERITY_MILD;
}

static const char *severity_name(u8 severity)
{
	return severity == SEVERITY_SEVERE ? "severe" : severity == SEVERITY_MILD ? "mild" : NULL;
}

static struct key key_of(const struct events *e, const struct frag_agg *r)
{
	u32 by = e->sums.by;
	struct key k = {.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};

	if (by & BY_ORDER) {
		k.order = r->order;
		k.fallback_order = r->fallback_order;
	}
	if (by & BY_MIGRATETYPE) {
		k.migratetype = r->migratetype;
		k.fallback_migratetype = r->fallback_migratetype;
	}
	if (by & BY_SEVERITY)
		k.severity = (u8)severity_of(e, r->fallback_order);
	return k;
}

static int agg_feed(struct events *e, const struct frag_agg *r)
{
	struct key k = key_of(e, r);
	struct sums *s = groups_get(&e->sums.groups, &k);
	enum severity severity = severity_of(e, r->fallback_order);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->rated += severity ? r->count : 0;
	s->severe += severity == SEVERITY_SEVERE ? r->count : 0;
	s->detailed += r->flags & FRAG_DETAIL ? r->count : 0;
	s->claimed += r->flags & FRAG_CLAIMED ? r->count : 0;
	return 0;
}

int events_feed(struct events *e, const struct rec *r)
{
	if (r->kind == REC_HOST)
		e->pageblock_order = ((const struct rec_host *)r)->pageblock_order;
	else if (r->kind == REC_FRAG_AGG)
		return agg_feed(e, (const struct frag_agg *)r);
	else if (r->kind == REC_FRAG_EVENT)
		return vec_push(&e->each, *(const struct frag_event *)r);
	return 0;
}

static void row_fill(
	struct cell all[C_N], struct report *r, const struct key *k, const struct sums *s, u32 by)
{
	by_task_cells(r, by, &k->task, all);
	all[C_ORDER] = cell_u64(k->order);
	all[C_FALLBACK] = cell_u64(k->fallback_order);
	all[C_FOR] = cell_text(migratetype_name(r, k->migratetype));
	all[C_FROM] = cell_text(migratetype_name(r, k->fallback_migratetype));
	all[C_SEVERITY] = cell_text(severity_name(k->severity));
	all[C_COUNT] = cell_u64(s->count);
	if (s->rated)
		all[C_SEVERE] = cell_u64(s->severe);
	if (s->detailed)
		all[C_CLAIMED] = cell_u64(s->claimed);
	all[C_STACK] = cell_stack(k->task.stack);
}

/* Was there a hook at all? The rest of the probe works without. */
static bool events_were_seen(const struct stream *s)
{
	vec_each (m, &s->methods)
		if (!strcmp(m->probe, "frag") && !strcmp(m->data, FRAG_EVENTS_DATA) && m->method[0])
			return true;
	return false;
}

int events_report(struct events *e, struct report *r)
{
	struct table *t = by_sums_table(
		&e->sums, r, "events", "Allocations that took another migratetype's block");
	const struct groups *g = &e->sums.groups;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = events_were_seen(r->stream)
			   ? "No allocation in scope had to take a block of another migratetype."
			   : "Not observed.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		struct cell all[C_N] = {};

		row_fill(all, r, groups_key(g, i), groups_value(g, i), e->sums.by);
		rc = by_sums_row(&e->sums, t, all);
	}
	return rc;
}

static void each_fill(struct cell *row, struct report *r, const struct zones *z,
	const struct frag_event *ev, enum severity severity)
{
	bool detail = ev->flags & FRAG_DETAIL;
	const struct frag_zone *zone = detail ? zones_of_pfn(z, ev->pfn) : NULL;

	row[E_TIME] = cell_since(r, ev->h.time_ns);
	row[E_PID] = cell_u64(ev->tgid);
	row[E_TID] = cell_u64(ev->tid);
	row[E_COMM] = cell_text(report_text(r, "%.16s", ev->comm));
	row[E_ORDER] = cell_u64(ev->order);
	row[E_FALLBACK] = cell_u64(ev->fallback_order);
	row[E_FOR] = cell_text(migratetype_name(r, ev->migratetype));
	row[E_FROM] = cell_text(migratetype_name(r, ev->fallback_migratetype));
	row[E_SEVERITY] = cell_text(severity_name((u8)severity));
	if (detail) {
		row[E_CLAIMED] = (struct cell){.type = CELL_BOOL, .b = ev->flags & FRAG_CLAIMED};
		row[E_PFN] = cell_u64(ev->pfn);
	}
	if (zone) {
		row[E_NODE] = cell_u64(zone->node);
		row[E_ZONE] = cell_text(report_text(r, "%.16s", zone->zone));
	}
	row[E_STACK] = cell_stack(ev->ustack);
}

struct table *events_each(struct events *e, const struct zones *z, struct report *r)
{
	struct table *t = report_table(r, "event",
		"Allocations that took another migratetype's block, each", each_columns, E_N);

	table_each (row, t, ev, &e->each)
		each_fill(row, r, z, ev, severity_of(e, ev->fallback_order));
	e->each.n = 0;
	return t;
}

void events_free(struct events *e)
{
	by_sums_free(&e->sums);
	vec_free(&e->each);
}

const struct view_table events_tables[] = {
	{"events", &columns[0].col, C_N, sizeof(columns[0])},
	{"event", each_columns, E_N, sizeof(each_columns[0])},
	{},
};
