/* Reclaim stalls as tables: sums by the keys of --by, or one row a stall with --each. */
#include "probes/reclaim/reclaim_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "base/groups.h"
#include "analysis/hist.h"
#include "probes/reclaim/gfp.h"
#include "probes/reclaim/reclaim_tables.h"

enum {
	BY_PROCESS = 1,
	BY_THREAD = 2,
	BY_KIND = 4,
	BY_CGROUP = 8,
	BY_ORDER = 16,
	BY_GFP = 32,
	BY_COMM = 64,
	BY_STACK = 128,
};

static const char *const by_keys[] = {
	"process",
	"thread",
	"kind",
	"cgroup",
	"order",
	"gfp",
	"comm",
	"stack",
	NULL,
};

struct key {
	u64 cgroup;
	u32 tgid, tid;
	u32 stack;
	u32 gfp;
	u32 kind, order;
	char comm[COMM_LEN];
};

struct sums {
	u64 count, total_ns, max_ns;
	u64 scanned, reclaimed;
	u64 shrinker_ns, throttled_ns;
	struct hist hist;
};

enum {
	C_PID,
	C_TID,
	C_COMM,
	C_CGROUP,
	C_KIND,
	C_ORDER,
	C_GFP,
	C_COUNT,
	C_TOTAL,
	C_P50,
	C_P99,
	C_MAX,
	C_SCANNED,
	C_RECLAIMED,
	C_SHRINKER,
	C_THROTTLED,
	C_HIST,
	C_STACK,
	C_N,
};

#define TASKS (BY_PROCESS | BY_THREAD)

static const struct by_column columns[C_N] = {
	[C_PID] = {TASKS, {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"}},
	[C_TID] = {BY_THREAD, {"tid", "TID", CELL_U64, UNIT_ID, 0, "thread id"}},
	[C_COMM] = {TASKS | BY_COMM,
		{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process or thread"}},
	[C_CGROUP] = {BY_CGROUP, {"cgroup", "CGROUP", CELL_TEXT, UNIT_NONE, 0, "control group"}},
	[C_KIND] = {BY_KIND, {"kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
				     "direct: no free page (allocstall_*); memcg: a control group "
				     "at its limit; soft limit; "
				     "node: one node only"}},
	[C_ORDER] = {BY_ORDER,
		{"order", "ORDER", CELL_U64, UNIT_ID, 0, "of the allocation: 2^order pages"}},
	[C_GFP] = {BY_GFP, {"gfp", "GFP", CELL_TEXT, UNIT_NONE, 0, "flags of the allocation"}},
	[C_COUNT] = {0, {"count", "STALLS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "stalls (exact)"}},
	[C_TOTAL] = {0, {"total_ns", "TIME", CELL_U64, UNIT_NS, 0, "time in them"}},
	[C_P50] = {0, {"p50_ns", "P50", CELL_U64, UNIT_NS, COL_WIDE,
			      "median duration (estimated from a log2 histogram)"}},
	[C_P99] = {0, {"p99_ns", "P99", CELL_U64, UNIT_NS, 0,
			      "99th percentile (estimated from a log2 histogram)"}},
	[C_MAX] = {0, {"max_ns", "MAX", CELL_U64, UNIT_NS, 0, "longest (since the start)"}},
	[C_SCANNED] = {0, {"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0,
				  "pages scanned, as pgscan_* counts"}},
	[C_RECLAIMED] = {0, {"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, 0,
				    "pages reclaimed from the LRU lists, as pgsteal_* counts"}},
	[C_SHRINKER] = {0,
		{"shrinker_ns", "SHRINKERS", CELL_U64, UNIT_NS, 0, "of the time, in shrinkers"}},
	[C_THROTTLED] = {0, {"throttled_ns", "THROTTLED", CELL_U64, UNIT_NS, 0,
				    "of the time, put to sleep (in steps of a jiffy)"}},
	[C_HIST] = {0, {"hist", "DURATIONS", CELL_HIST, UNIT_NS, COL_WIDE,
			       "log2 histogram of the durations"}},
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that had to reclaim"}},
};

static const struct column each_columns[] = {
	{"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "when it began, since the start"},
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "thread id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread"},
	{"cgroup", "CGROUP", CELL_TEXT, UNIT_NONE, COL_WIDE, "control group"},
	{"kind", "KIND", CELL_TEXT, UNIT_NONE, 0, "direct, memcg, soft limit or node"},
	{"node", "NODE", CELL_U64, UNIT_ID, COL_WIDE, "of node reclaim"},
	{"order", "ORDER", CELL_U64, UNIT_ID, 0, "of the allocation: 2^order pages"},
	{"gfp", "GFP", CELL_TEXT, UNIT_NONE, 0, "flags of the allocation"},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "how long the task was held up"},
	{"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0, "pages scanned, as pgscan_* counts"},
	{"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, 0,
		"pages reclaimed from the LRU lists, as pgsteal_* counts"},
	{"returned_pages", "RETURNED", CELL_U64, UNIT_PAGES, COL_WIDE,
		"pages reclaimed as the allocator was told: with the pages of slabs"},
	{"shrinker_ns", "SHRINKERS", CELL_U64, UNIT_NS, 0, "of the duration, in shrinkers"},
	{"throttled_ns", "THROTTLED", CELL_U64, UNIT_NS, 0, "of the duration, put to sleep"},
	{"free_pages", "FREE", CELL_U64, UNIT_PAGES, 0, "free in all zones when it began"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that had to reclaim"},
};

struct reclaim_state {
	u32 by;
	u64 min_ns;
	struct groups groups;
	struct reclaim_tables tables;
	struct column cols[C_N];
	size_t col_index[C_N];
	size_t n_cols;
	VEC(struct reclaim_stall) stalls;
};

static int reclaim_init(void *state, const struct view_options *o, struct err *err)
{
	struct reclaim_state *v = state;
	int rc = by_parse(o->by ? o->by : reclaim_view.by_default, by_keys, &v->by, err);

	if (rc)
		return rc;
	if (o->stacks)
		v->by |= BY_STACK;
	v->min_ns = o->min_ns;
	groups_init(&v->groups, sizeof(struct key), sizeof(struct sums));
	reclaim_tables_init(&v->tables);
	v->n_cols = by_columns(columns, C_N, v->by, v->cols, v->col_index);
	return 0;
}

static struct key key_of(u32 by, const struct reclaim_agg *r)
{
	struct key k;

	memset(&k, 0, sizeof(k));
	if (by & TASKS)
		k.tgid = r->tgid;
	if (by & BY_THREAD)
		k.tid = r->tid;
	if (by & BY_STACK)
		k.stack = r->stack;
	if (by & BY_CGROUP)
		k.cgroup = r->cgroup;
	if (by & BY_KIND)
		k.kind = r->kind;
	if (by & BY_ORDER)
		k.order = r->order;
	if (by & BY_GFP)
		k.gfp = r->gfp;
	if (by & BY_COMM)
		memcpy(k.comm, r->comm, sizeof(k.comm));
	return k;
}

static int stalls_feed(struct reclaim_state *v, const struct reclaim_agg *r)
{
	struct key k = key_of(v->by, r);
	struct sums *s = groups_get(&v->groups, &k);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->total_ns += r->total_ns;
	s->max_ns = MAX(s->max_ns, r->max_ns);
	s->scanned += r->scanned;
	s->reclaimed += r->reclaimed;
	s->shrinker_ns += r->shrinker_ns;
	hist_merge32(&s->hist, r->hist, AGG_SLOTS);
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
	struct key k;

	if (t->kind == RECLAIM_KSWAPD || t->kind == RECLAIM_OTHER)
		return 0;
	memcpy(r.comm, t->comm, sizeof(r.comm));
	k = key_of(v->by, &r);
	s = groups_get(&v->groups, &k);
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
	return rc ? rc : reclaim_tables_feed(&v->tables, r);
}

static const char *comm_of(struct report *r, const struct key *k, u32 by)
{
	if (by & TASKS)
		return report_text(r, "%s", stream_comm(r->stream, k->tgid, k->tid));
	return report_text(r, "%.16s", k->comm);
}

static const char *gfp_text(struct report *r, u32 gfp)
{
	_cleanup_str_ struct str s = {};

	gfp_add(&s, r->stream, gfp);
	return report_text(r, "%s", str_get(&s));
}

static void row_fill(
	struct cell all[C_N], struct report *r, const struct key *k, const struct sums *s, u32 by)
{
	all[C_PID] = cell_u64(k->tgid);
	all[C_TID] = cell_u64(k->tid);
	all[C_COMM] = cell_text(comm_of(r, k, by));
	all[C_CGROUP] = cell_text(stream_cgroup(r->stream, k->cgroup));
	all[C_KIND] = cell_text(reclaim_kind_name((u8)k->kind));
	all[C_ORDER] = cell_u64(k->order);
	all[C_GFP] = cell_text(gfp_text(r, k->gfp));
	all[C_COUNT] = cell_u64(s->count);
	all[C_TOTAL] = cell_u64(s->total_ns);
	all[C_P50] = cell_u64(hist_quantile(&s->hist, 0.5, s->max_ns));
	all[C_P99] = cell_u64(hist_quantile(&s->hist, 0.99, s->max_ns));
	all[C_MAX] = cell_u64(s->max_ns);
	all[C_SCANNED] = cell_u64(s->scanned);
	all[C_RECLAIMED] = cell_u64(s->reclaimed);
	all[C_SHRINKER] = cell_u64(s->shrinker_ns);
	all[C_THROTTLED] = cell_u64(s->throttled_ns);
	all[C_HIST] = hist_to_cell(r, &s->hist);
	all[C_STACK] = cell_stack(k->stack);
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
	struct table *t = report_table(r, "stalls", "Reclaim stalls", v->cols, v->n_cols);
	bool scans = scans_are_known(&v->groups);

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	t->empty = "No direct reclaim: no task had to free memory itself in this interval.";
	if (!scans)
		report_note(r,
			"This kernel's multi-generational LRU does not tell what it scans; pages "
			"reclaimed are what reclaim returned, with the pages of slabs.");
	for (size_t i = 0; i < v->groups.n; i++) {
		const struct sums *s = groups_value(&v->groups, i);
		struct cell all[C_N] = {}, *row;

		if (!s->count)
			continue; /* throttled in a stall that has not ended yet */
		row = table_row(t);
		if (!row)
			return -ENOMEM;
		row_fill(all, r, groups_key(&v->groups, i), s, v->by);
		if (!scans)
			all[C_SCANNED] = (struct cell){};
		for (size_t c = 0; c < v->n_cols; c++)
			row[c] = all[v->col_index[c]];
	}
	return 0;
}

static int reclaim_report(void *state, struct report *r)
{
	struct reclaim_state *v = state;
	int rc = stalls_report(v, r);

	return rc ? rc : reclaim_tables_report(&v->tables, r);
}

static void each_fill(struct cell *row, struct report *r, const struct reclaim_stall *e)
{
	u64 start = e->h.time_ns - e->ns, origin = r->stream->session.h.time_ns;

	row[0] = cell_u64(start > origin ? start - origin : 0);
	row[1] = cell_u64(e->tgid);
	row[2] = cell_u64(e->tid);
	row[3] = cell_text(report_text(r, "%.16s", e->comm));
	row[4] = cell_text(stream_cgroup(r->stream, e->cgroup));
	row[5] = cell_text(reclaim_kind_name(e->kind));
	row[6] = e->node < 0 ? (struct cell){} : cell_u64((u64)e->node);
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

	vec_each (e, &v->stalls) {
		struct cell *row = t ? table_row(t) : NULL;

		if (!row)
			break;
		each_fill(row, r, e);
	}
	v->stalls.n = 0;
	return t;
}

static void reclaim_reset(void *state)
{
	struct reclaim_state *v = state;

	groups_clear(&v->groups);
	reclaim_tables_reset(&v->tables);
}

static void reclaim_destroy(void *state)
{
	struct reclaim_state *v = state;

	groups_free(&v->groups);
	reclaim_tables_free(&v->tables);
	vec_free(&v->stalls);
}

static const struct view_table tables[] = {
	{"stalls", &columns[0].col, C_N, sizeof(columns[0])},
	{"stall", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
	{},
};

const struct view reclaim_view = {
	.tables = (const struct view_table *const[]){tables, reclaim_side_tables, NULL},
	.size = sizeof(struct reclaim_state),
	.by_default = "process,kind",
	.by_keys = by_keys,
	.init = reclaim_init,
	.feed = reclaim_feed,
	.report = reclaim_report,
	.each = reclaim_each,
	.reset = reclaim_reset,
	.destroy = reclaim_destroy,
};
