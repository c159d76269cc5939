/* Reclaim stalls as tables: sums by the keys of --by, or one row a stall with --each. */
#include "probes/reclaim/reclaim_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "analysis/gfp.h"
#include "base/clock.h"
#include "probes/reclaim/reclaim_looks.h"
#include "probes/reclaim/reclaim_tables.h"

enum { BY_KIND = BY_OWN, BY_ORDER = BY_OWN << 1, BY_GFP = BY_OWN << 2 };

static const char *const by_keys[] = {BY_TASK_KEYS, "kind", "order", "gfp", NULL};

struct key {
	struct by_task_key task;
	u32 gfp;
	u16 kind, order;
};

struct sums {
	struct durations stalls;
	u64 scanned, reclaimed;
	u64 shrinker_ns, throttled_ns;
};

enum {
	C_KIND = BY_C_OWN,
	C_ORDER,
	C_GFP,
	C_COUNT,
	C_DURATIONS,
	C_SCANNED = C_DURATIONS + DURATIONS_N,
	C_RECLAIMED,
	C_SHRINKER,
	C_THROTTLED,
	C_STACK,
	C_N,
};

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_KIND] = {BY_KIND, {"kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
				     "direct: no free page (allocstall_*); memcg: a control group "
				     "at its limit; soft limit; "
				     "node: one node only"}},
	[C_ORDER] = {BY_ORDER,
		{"order", "ORDER", CELL_U64, UNIT_ID, 0, "of the allocation: 2^order pages"}},
	[C_GFP] = {BY_GFP, {"gfp", "GFP", CELL_TEXT, UNIT_NONE, 0, "flags of the allocation"}},
	[C_COUNT] = {0, {"count", "STALLS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "stalls (exact)"}},
	DURATIONS_COLUMNS(C_DURATIONS, "time in them"),
	[C_SCANNED] = {0, {"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0,
				  "pages scanned, as pgscan_* counts"}},
	[C_RECLAIMED] = {0, {"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, 0,
				    "pages reclaimed from the LRU lists, as pgsteal_* counts"}},
	[C_SHRINKER] = {0,
		{"shrinker_ns", "SHRINKERS", CELL_U64, UNIT_NS, 0, "of the time, in shrinkers"}},
	[C_THROTTLED] = {0, {"throttled_ns", "THROTTLED", CELL_U64, UNIT_NS, 0,
				    "of the time, put to sleep (in steps of a jiffy)"}},
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that had to reclaim"}},
};

static const struct column each_columns[] = {
	EACH_COLUMNS("when it began, since the start"),
	{"kind", "KIND", CELL_TEXT, UNIT_NONE, 0, "direct, memcg, soft limit or node"},
	{"node", "NODE", CELL_U64, UNIT_ID, COL_WIDE, "of node reclaim"},
	{"order", "ORDER", CELL_U64, UNIT_ID, 0, "of the allocation: 2^order pages"},
	{"gfp", "GFP", CELL_TEXT, UNIT_NONE, 0, "flags of the allocation"},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "how long the task was held up"},
	{"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0, "pages scanned, as pgscan_* counts"},
	{"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, 0,
		"pages reclaimed from the LRU lists, as pgsteal_* counts"},
	{"returned_pages", "RETURNED", CELL_U64, UNIT_PAGES, COL_WIDE,
		"pages reclaimed as reported to the allocator: with the pages of slabs"},
	{"shrinker_ns", "SHRINKERS", CELL_U64, UNIT_NS, 0, "of the duration, in shrinkers"},
	{"throttled_ns", "THROTTLED", CELL_U64, UNIT_NS, 0, "of the duration, put to sleep"},
	{"free_pages", "FREE", CELL_U64, UNIT_PAGES, 0, "free in all zones when it began"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that had to reclaim"},
};

static const struct by_spec spec = BY_SPEC(columns, struct key, struct sums);

struct reclaim_state {
	u64 min_ns;
	struct by_sums sums;
	struct reclaim_tables tables;
	struct vmscan_sums vmscan;
	VEC(struct reclaim_stall) stalls;
};

static int reclaim_init(void *state, const struct view_options *o, struct err *err)
{
	struct reclaim_state *v = state;

	v->min_ns = o->min_ns;
	reclaim_tables_init(&v->tables);
	return by_sums_init(&v->sums, &spec, &reclaim_view, o, err);
}

static struct key key_of(u32 by, const struct reclaim_agg *r)
{
	struct key k = {.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};

	if (by & BY_KIND)
		k.kind = r->kind;
	if (by & BY_ORDER)
		k.order = r->order;
	if (by & BY_GFP)
		k.gfp = r->gfp;
	return k;
}

static struct sums *sums_of(struct reclaim_state *v, const struct reclaim_agg *r)
{
	struct key k = key_of(v->sums.by, r);

	return groups_get(&v->sums.groups, &k);
}

static int stalls_feed(struct reclaim_state *v, const struct reclaim_agg *r)
{
	struct sums *s = sums_of(v, r);

	if (!s)
		return -ENOMEM;
	durations_add(&s->stalls, r->count, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	s->scanned += r->scanned;
	s->reclaimed += r->reclaimed;
	s->shrinker_ns += r->shrinker_ns;
	return 0;
}

/* The sleeps within stalls, which carry the key of the stall. */
static int stalls_feed_throttle(struct reclaim_state *v, const struct reclaim_throttle *t)
{
	struct reclaim_agg r = {
		.tgid = t->tgid,
		.tid = t->tid,
		.stack = t->stack,
		.gfp = t->gfp,
		.kind = t->kind,
		.order = t->order,
		.cgroup = t->cgroup,
	};
	struct sums *s;

	if (t->kind == RECLAIM_KSWAPD || t->kind == RECLAIM_OTHER)
		return 0;
	memcpy(r.comm, t->comm, sizeof(r.comm));
	s = sums_of(v, &r);
	if (!s)
		return -ENOMEM;
	s->throttled_ns += t->total_ns;
	return 0;
}

static int reclaim_feed(void *state, const struct rec *r)
{
	struct reclaim_state *v = state;
	const struct reclaim_stall *stall = (const struct reclaim_stall *)r;
	int rc = 0;

	if (r->kind == REC_RECLAIM_AGG)
		rc = stalls_feed(v, (const struct reclaim_agg *)r);
	else if (r->kind == REC_RECLAIM_THROTTLE)
		rc = stalls_feed_throttle(v, (const struct reclaim_throttle *)r);
	else if (r->kind == REC_RECLAIM_STALL && stall->ns >= v->min_ns)
		rc = vec_push(&v->stalls, *stall);
	vmscan_feed(&v->vmscan, r);
	return rc ? rc : reclaim_tables_feed(&v->tables, r);
}

static void row_fill(
	struct cell all[C_N], struct report *r, const struct key *k, const struct sums *s, u32 by)
{
	by_task_cells(r, by, &k->task, all);
	all[C_KIND] = cell_text(reclaim_kind_name((u8)k->kind));
	all[C_ORDER] = cell_u64(k->order);
	all[C_GFP] = cell_text(gfp_text(r, k->gfp));
	all[C_COUNT] = cell_u64(s->stalls.count);
	durations_cells(r, &s->stalls, &all[C_DURATIONS]);
	all[C_SCANNED] = cell_u64(s->scanned);
	all[C_RECLAIMED] = cell_u64(s->reclaimed);
	all[C_SHRINKER] = cell_u64(s->shrinker_ns);
	all[C_THROTTLED] = cell_u64(s->throttled_ns);
	all[C_STACK] = cell_stack(k->task.stack);
}

/* Did the LRU events tell anything? Without them pages are reclaimed and none is scanned. */
static bool scans_are_known(const struct groups *g)
{
	u64 scanned = 0, reclaimed = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct sums *s = groups_value(g, i);

		scanned += s->scanned;
		reclaimed += s->reclaimed;
	}
	return scanned || !reclaimed;
}

static int stalls_report(struct reclaim_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->sums, r, "stalls", "Reclaim stalls");
	const struct groups *g = &v->sums.groups;
	bool scans = scans_are_known(g);
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	t->empty = "No direct reclaim: no task had to free memory itself in this interval.";
	if (!scans)
		report_note(r,
			"This kernel's multi-generational LRU does not tell what it scans; pages "
			"reclaimed are what reclaim returned, with the pages of slabs.");
	for (size_t i = 0; i < g->n && !rc; i++) {
		const struct sums *s = groups_value(g, i);
		struct cell all[C_N] = {};

		if (!s->stalls.count)
			continue; /* throttled in a stall that has not ended yet */
		row_fill(all, r, groups_key(g, i), s, v->sums.by);
		if (!scans)
			all[C_SCANNED] = (struct cell){};
		rc = by_sums_row(&v->sums, t, all);
	}
	return rc;
}

static int reclaim_report(void *state, struct report *r)
{
	struct reclaim_state *v = state;
	int rc = stalls_report(v, r);

	return rc ? rc : reclaim_tables_report(&v->tables, r);
}

static void each_fill(struct cell *row, struct report *r, const struct reclaim_stall *e)
{
	each_cells(r, e->h.time_ns - e->ns, e->tgid, e->tid, e->comm, e->cgroup, row);
	row[5] = cell_text(reclaim_kind_name(e->kind));
	row[6] = cell_node(e->node);
	row[7] = cell_u64(e->order);
	row[8] = cell_text(gfp_text(r, e->gfp));
	row[9] = cell_u64(e->ns);
	row[10] = cell_u64(e->scanned);
	row[11] = cell_u64(e->reclaimed);
	row[12] = cell_u64(e->returned);
	row[13] = cell_u64(e->shrinker_ns);
	row[14] = cell_u64(e->throttled_ns);
	row[15] = e->free_pages ? cell_u64(e->free_pages) : (struct cell){};
	row[16] = cell_stack(e->ustack);
}

static struct table *reclaim_each(void *state, struct report *r)
{
	struct reclaim_state *v = state;
	struct table *t = report_table(
		r, "stall", "Reclaim stalls, each", each_columns, ARRAY_SIZE(each_columns));

	table_each (row, t, e, &v->stalls)
		each_fill(row, r, e);
	v->stalls.n = 0;
	return t;
}

static void reclaim_reset(void *state)
{
	struct reclaim_state *v = state;

	groups_clear(&v->sums.groups);
	reclaim_tables_reset(&v->tables);
	v->vmscan = (struct vmscan_sums){};
}

static void reclaim_destroy(void *state)
{
	struct reclaim_state *v = state;

	by_sums_free(&v->sums);
	reclaim_tables_free(&v->tables);
	vec_free(&v->stalls);
}

static void drsnoop_lines(void *state, struct report *r, struct str *out)
{
	struct reclaim_state *v = state;

	(void)r;
	vec_each (e, &v->stalls)
		drsnoop_line(e, out);
	v->stalls.n = 0;
}

static void vmscan_lines(void *state, struct report *r, struct str *out)
{
	vmscan_line(r, &((struct reclaim_state *)state)->vmscan, out);
}

static const struct look looks[] = {
	{"drsnoop", drsnoop_head, 0, drsnoop_lines, NULL},
	{"vmscan", vmscan_head, NSEC_PER_SEC, vmscan_lines, NULL},
	{},
};

static const struct view_table tables[] = {
	{"stalls", &columns[0].col, C_N, sizeof(columns[0])},
	{"stall", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
	{},
};

const struct view reclaim_view = {
	.tables = (const struct view_table *const[]){tables, reclaim_side_tables, NULL},
	.size = sizeof(struct reclaim_state),
	.looks = looks,
	.by_default = "process,kind",
	.by_keys = by_keys,
	.init = reclaim_init,
	.feed = reclaim_feed,
	.report = reclaim_report,
	.each = reclaim_each,
	.times_each = true,
	.reset = reclaim_reset,
	.destroy = reclaim_destroy,
};
