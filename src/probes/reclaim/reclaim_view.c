/* Reclaim stalls as tables: sums by the keys of --by, or one row a stall with --each. */
#include "probes/reclaim/reclaim_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "analysis/gfp_text.h"
#include "base/clock.h"
#include "base/str.h"
#include "probes/reclaim/reclaim.h"
#include "probes/reclaim/reclaim_tables.h"
#include "report/report.h"

/* What vmscan sums up in each interval. */
struct vmscan_sums {
	u64 shrinker_ns, direct_ns, memcg_ns;
	u64 kswapd_wakes, written_pages;
};

/* What older tools print first. */
static const char drsnoop_head[] = "COMM           PID     LAT(ms) PAGES";
static const char vmscan_head[] =
	"TIME         S-SLABms  D-RECLAIMms  M-RECLAIMms KSWAPD WRITEPAGE";

/* A line for one stall of global direct reclaim; nothing for others, which drsnoop does not see. */
static void drsnoop_line(const struct reclaim_stall *e, struct str *out)
{
	_cleanup_str_ struct str comm = {};
	char name[COMM_LEN];

	if (e->kind != RECLAIM_DIRECT)
		return;
	snprintf(name, sizeof(name), "%.14s", e->comm);
	str_add_escaped(&comm, name);
	str_addf(out, "%-14s %-6u %8.2f %5llu\n", str_get(&comm), e->tgid,
		(double)e->ns / (double)NSEC_PER_MSEC, e->returned);
}

static void vmscan_feed(struct vmscan_sums *v, const struct rec *rec)
{
	const struct reclaim_agg *stall = (const void *)rec;

	if (rec->kind == REC_RECLAIM_AGG && stall->kind == RECLAIM_DIRECT)
		v->direct_ns += stall->total_ns;
	else if (rec->kind == REC_RECLAIM_AGG && stall->kind == RECLAIM_MEMCG)
		v->memcg_ns += stall->total_ns;
	else if (rec->kind == REC_RECLAIM_SHRINKER)
		v->shrinker_ns += ((const struct reclaim_shrinker *)rec)->total_ns;
	else if (rec->kind == REC_RECLAIM_KSWAPD)
		v->kswapd_wakes += ((const struct reclaim_kswapd *)rec)->runs;
	else if (rec->kind == REC_RECLAIM_WRITTEN)
		v->written_pages += ((const struct reclaim_written *)rec)->pages;
}

static void vmscan_line(struct report *r, const struct vmscan_sums *v, struct str *out)
{
	str_addf(out, "%-10s %10llu %12llu %12llu %6llu %9llu\n",
		report_clock(r, r->stream->last_ns), v->shrinker_ns / NSEC_PER_MSEC,
		v->direct_ns / NSEC_PER_MSEC, v->memcg_ns / NSEC_PER_MSEC, v->kswapd_wakes,
		v->written_pages);
}

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

/* How it is to be told, of the whole report (struct row_of). */
struct told {
	bool scans; /* what was scanned is known */
};

#define SCANNED_HELP "pages scanned, as pgscan_* counts"
#define RECLAIMED_HELP "pages reclaimed from the LRU lists, as pgsteal_* counts"
#define ORDER_HELP "of the allocation: 2^order pages"
#define STACK_HELP "code path that had to reclaim"

static CELL_GET(kind_cell)
{
	return cell_text(reclaim_kind_name((u8)((const struct key *)row->key)->kind));
}

static CELL_GET(scanned_cell)
{
	return ((const struct told *)row->view)->scans ? cell_of_u64(r, row, offset)
						       : (struct cell){};
}

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_BY(BY_KIND, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"direct: no free page (allocstall_*); memcg: a control group at its limit; soft "
		"limit; node: one node only",
		kind_cell),
	CELL_KEY(BY_ORDER, struct key, order, "order", "ORDER", UNIT_ID, 0, ORDER_HELP),
	CELL_FROM(BY_GFP, struct key, gfp, "gfp", "GFP", CELL_TEXT, UNIT_NONE, 0,
		"flags of the allocation", gfp_cell),
	CELL_COUNT(struct sums, stalls.count, "STALLS", "stalls (exact)"),
	DURATIONS_CELLS(struct sums, stalls, "time in them"),
	CELL_FROM(0, struct sums, scanned, "scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0,
		SCANNED_HELP, scanned_cell),
	CELL_NUMBER(struct sums, reclaimed, "reclaimed_pages", "RECLAIMED", UNIT_PAGES, 0,
		RECLAIMED_HELP),
	CELL_NUMBER(struct sums, shrinker_ns, "shrinker_ns", "SHRINKERS", UNIT_NS, 0,
		"of the time, in shrinkers"),
	CELL_NUMBER(struct sums, throttled_ns, "throttled_ns", "THROTTLED", UNIT_NS, 0,
		"of the time, put to sleep (in steps of a jiffy)"),
	BY_STACK_CELLS(STACK_HELP),
};

/* Throttled in a stall that has not ended yet: no row. */
static bool stalled(const struct row_of *row)
{
	return ((const struct sums *)row->sums)->stalls.count;
}

static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums, .shows = stalled);

static CELL_GET(began_cell)
{
	const struct reclaim_stall *e = row->sums;

	return cell_since(r, e->h.time_ns - e->ns);
}

static CELL_GET(each_kind_cell)
{
	return cell_text(reclaim_kind_name(((const struct reclaim_stall *)row->sums)->kind));
}

#define STALL(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct reclaim_stall, member_, name_, title_, unit_, flags_, help_)

static const struct cell_column each_columns[] = {
	EACH_CELLS(struct reclaim_stall, "when it began, since the start", began_cell),
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0, "direct, memcg, soft limit or node",
		each_kind_cell),
	CELL_FROM(0, struct reclaim_stall, node, "node", "NODE", CELL_U64, UNIT_ID, COL_WIDE,
		"of node reclaim", cell_of_node),
	STALL(order, "order", "ORDER", UNIT_ID, 0, ORDER_HELP),
	CELL_FROM(0, struct reclaim_stall, gfp, "gfp", "GFP", CELL_TEXT, UNIT_NONE, 0,
		"flags of the allocation", gfp_cell),
	STALL(ns, "duration_ns", "DURATION", UNIT_NS, 0, "how long the task was held up"),
	STALL(scanned, "scanned_pages", "SCANNED", UNIT_PAGES, 0, SCANNED_HELP),
	STALL(reclaimed, "reclaimed_pages", "RECLAIMED", UNIT_PAGES, 0, RECLAIMED_HELP),
	STALL(returned, "returned_pages", "RETURNED", UNIT_PAGES, COL_WIDE,
		"pages reclaimed as reported to the allocator: with the pages of slabs"),
	STALL(shrinker_ns, "shrinker_ns", "SHRINKERS", UNIT_NS, 0, "of the duration, in shrinkers"),
	STALL(throttled_ns, "throttled_ns", "THROTTLED", UNIT_NS, 0,
		"of the duration, put to sleep"),
	CELL_FROM(0, struct reclaim_stall, free_pages, "free_pages", "FREE", CELL_U64, UNIT_PAGES,
		0, "free in all zones when it began", cell_of_known),
	CELL_STACK_OF(struct reclaim_stall, ustack, STACK_HELP),
};

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

	v->min_ns = view_min_ns(o);
	reclaim_tables_init(&v->tables);
	return by_sums_init(&v->sums, &spec, &reclaim_view, o, err);
}

static struct key reclaim_view_key_of(u32 by, const struct reclaim_agg *r)
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

static struct sums *reclaim_view_sums_of(struct reclaim_state *v, const struct reclaim_agg *r)
{
	struct key k = reclaim_view_key_of(v->sums.by, r);

	return groups_get(&v->sums.groups, &k);
}

static int stalls_feed(struct reclaim_state *v, const struct reclaim_agg *r)
{
	struct sums *s = reclaim_view_sums_of(v, r);

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
	s = reclaim_view_sums_of(v, &r);
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
	const struct told told = {scans_are_known(&v->sums.groups)};
	struct table *t = by_sums_show_with(&v->sums, r, "stalls", "Reclaim stalls", &told);

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	t->empty = "No direct reclaim: no task had to free memory itself in this interval.";
	if (!told.scans)
		report_note(r,
			"This kernel's multi-generational LRU does not tell what it scans; pages "
			"reclaimed are what reclaim returned, with the pages of slabs.");
	return 0;
}

static int reclaim_report(void *state, struct report *r)
{
	struct reclaim_state *v = state;
	int rc = stalls_report(v, r);

	return rc ? rc : reclaim_tables_report(&v->tables, r);
}

static struct table *reclaim_each(void *state, struct report *r)
{
	struct reclaim_state *v = state;
	struct table *t = cells_table(
		r, "stall", "Reclaim stalls, each", each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &v->stalls, NULL);
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
	CELLS_VIEW("stalls", columns),
	CELLS_VIEW("stall", each_columns),
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
