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

/* Members of the key of the sums, and of an event. */
static CELL_GET(migratetype_cell)
{
	return cell_text(migratetype_name(r, *((const u8 *)row->key + offset)));
}

static CELL_GET(severity_cell)
{
	return cell_text(severity_name(((const struct key *)row->key)->severity));
}

static CELL_GET(severe_cell)
{
	const struct sums *s = row->sums;

	return s->rated ? cell_u64(s->severe) : (struct cell){};
}

static CELL_GET(claimed_cell)
{
	const struct sums *s = row->sums;

	return s->detailed ? cell_u64(s->claimed) : (struct cell){};
}

#define ORDER_HELP "order of the allocation"
#define FALLBACK_HELP "order of the free block it was cut from"
#define FOR_HELP "migratetype asked for"
#define FROM_HELP "migratetype of the free block"
#define STACK_HELP "code path that asked for the page"

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_KEY(BY_ORDER, struct key, order, "order", "ORDER", UNIT_ID, 0, ORDER_HELP),
	CELL_KEY(BY_ORDER, struct key, fallback_order, "fallback_order", "BLOCK", UNIT_ID, 0,
		FALLBACK_HELP),
	CELL_FROM(BY_MIGRATETYPE, struct key, migratetype, "migratetype", "FOR", CELL_TEXT,
		UNIT_NONE, 0, FOR_HELP, migratetype_cell),
	CELL_FROM(BY_MIGRATETYPE, struct key, fallback_migratetype, "fallback_migratetype",
		"TAKEN FROM", CELL_TEXT, UNIT_NONE, 0, FROM_HELP, migratetype_cell),
	CELL_BY(BY_SEVERITY, "severity", "SEVERITY", CELL_TEXT, UNIT_NONE, 0,
		"severe: the block was smaller than a pageblock, so two types share one; or mild",
		severity_cell),
	CELL_COUNT(struct sums, count, "EVENTS",
		"allocations that took a block of another migratetype (exact)"),
	CELL_BY(0, "severe", "SEVERE", CELL_U64, UNIT_COUNT, 0,
		"of these, from a block smaller than a pageblock", severe_cell),
	CELL_BY(0, "claimed", "CLAIMED", CELL_U64, UNIT_COUNT, 0,
		"of all, the pageblock changed to the migratetype asked for", claimed_cell),
	BY_STACK_CELLS(STACK_HELP),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums);

/* What the cells of single events need besides them. */
struct each_view {
	const struct events *events;
	const struct zones *zones;
};

static CELL_GET(each_severity_cell)
{
	const struct each_view *v = row->view;
	const struct frag_event *e = row->sums;

	return cell_text(severity_name((u8)severity_of(v->events, e->fallback_order)));
}

static bool has_detail(const struct row_of *row)
{
	return ((const struct frag_event *)row->sums)->flags & FRAG_DETAIL;
}

static CELL_GET(each_claimed_cell)
{
	bool claimed = ((const struct frag_event *)row->sums)->flags & FRAG_CLAIMED;

	return has_detail(row) ? cell_bool(claimed) : (struct cell){};
}

static const struct frag_zone *zone_of(const struct row_of *row)
{
	const struct each_view *v = row->view;

	return has_detail(row) ? zones_of_pfn(v->zones, ((const struct frag_event *)row->sums)->pfn)
			       : NULL;
}

static CELL_GET(node_cell)
{
	const struct frag_zone *zone = zone_of(row);

	return zone ? cell_u64(zone->node) : (struct cell){};
}

static CELL_GET(zone_cell)
{
	const struct frag_zone *zone = zone_of(row);

	return zone ? cell_text(report_text(r, "%.16s", zone->zone)) : (struct cell){};
}

static CELL_GET(pfn_cell)
{
	return has_detail(row) ? cell_of_u64(r, row, offset) : (struct cell){};
}

#define EVENT(member_, name_, title_, kind_, unit_, flags_, help_, get_) \
	CELL_FROM(0, struct frag_event, member_, name_, title_, kind_, unit_, flags_, help_, get_)

static const struct cell_column each_columns[] = {
	EVENT(h.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0, "since the start", cell_of_time),
	CELL_NUMBER(struct frag_event, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_NUMBER(struct frag_event, tid, "tid", "TID", UNIT_ID, COL_WIDE, "thread id"),
	EVENT(comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread", cell_of_comm),
	CELL_NUMBER(struct frag_event, order, "order", "ORDER", UNIT_ID, 0, ORDER_HELP),
	CELL_NUMBER(struct frag_event, fallback_order, "fallback_order", "BLOCK", UNIT_ID, 0,
		FALLBACK_HELP),
	EVENT(migratetype, "migratetype", "FOR", CELL_TEXT, UNIT_NONE, 0, FOR_HELP,
		migratetype_cell),
	EVENT(fallback_migratetype, "fallback_migratetype", "TAKEN FROM", CELL_TEXT, UNIT_NONE, 0,
		FROM_HELP, migratetype_cell),
	CELL_BY(0, "severity", "SEVERITY", CELL_TEXT, UNIT_NONE, 0,
		"severe: the block was smaller than a pageblock; or mild", each_severity_cell),
	CELL_BY(0, "claimed", "CLAIMED", CELL_BOOL, UNIT_NONE, 0,
		"the pageblock changed to the migratetype asked for", each_claimed_cell),
	CELL_BY(0, "node", "NODE", CELL_U64, UNIT_ID, COL_WIDE, "NUMA node of the page", node_cell),
	CELL_BY(0, "zone", "ZONE", CELL_TEXT, UNIT_NONE, COL_WIDE, "zone of the page", zone_cell),
	EVENT(pfn, "pfn", "PFN", CELL_U64, UNIT_HEX, COL_WIDE, "frame number of the page",
		pfn_cell),
	CELL_STACK_OF(struct frag_event, ustack, STACK_HELP),
};

int events_init(
	struct events *e, const struct view *v, const struct view_options *o, struct err *err)
{
	e->wants_each = o->each;
	return by_sums_init(&e->sums, &spec, v, o, err);
}

static struct key frag_events_key_of(const struct events *e, const struct frag_agg *r)
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

static int frag_events_agg_feed(struct events *e, const struct frag_agg *r)
{
	struct key k = frag_events_key_of(e, r);
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
		return frag_events_agg_feed(e, (const struct frag_agg *)r);
	else if (r->kind == REC_FRAG_EVENT && e->wants_each)
		return vec_push(&e->each, *(const struct frag_event *)r);
	return 0;
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
	struct table *t = by_sums_show(
		&e->sums, r, "events", "Allocations that took another migratetype's block");

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = events_were_seen(r->stream)
			   ? "No allocation in scope had to take a block of another migratetype."
			   : "Not observed.";
	return 0;
}

struct table *events_each(struct events *e, const struct zones *z, struct report *r)
{
	const struct each_view v = {e, z};
	struct table *t =
		cells_table(r, "event", "Allocations that took another migratetype's block, each",
			each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &e->each, &v);
	e->each.n = 0;
	return t;
}

void events_free(struct events *e)
{
	by_sums_free(&e->sums);
	vec_free(&e->each);
}

const struct view_table events_tables[] = {
	CELLS_VIEW("events", columns),
	CELLS_VIEW("event", each_columns),
	{},
};
