/* See thp_view.h: what tasks do with huge pages, by the keys of --by or one row an event. */
#include "probes/thp/thp_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "probes/thp/thp_tables.h"

static const char *const by_keys[] = {BY_TASK_KEYS, NULL};

struct sums {
	u64 count[THP_KIND_N];
	u64 ns[THP_KIND_N];
	u64 zero_ns, reclaimed;
	struct durations handled;
};

enum {
	C_FAULTS = BY_C_OWN,
	C_FALLBACKS,
	C_RATIO,
	C_DURATIONS,
	C_ZERO = C_DURATIONS + DURATIONS_N,
	C_COMPACTIONS,
	C_COMPACT,
	C_RECLAIMS,
	C_RECLAIM,
	C_SPLIT_PMD,
	C_SPLIT_PAGE,
	C_STACK,
	C_N,
};

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_FAULTS] = {0, {"count", "HUGE", CELL_U64, UNIT_COUNT, COL_WEIGHT,
				 "faults that got a huge page, as thp_fault_alloc (exact)"}},
	[C_FALLBACKS] = {0,
		{"fallbacks", "FALLBACK", CELL_U64, UNIT_COUNT, 0,
			"faults that got small pages instead, as thp_fault_fallback (exact)"}},
	[C_RATIO] = {0, {"fallback_ratio", "SHARE", CELL_F64, UNIT_RATIO, COL_WIDE,
				"fallbacks of all faults that could have had a huge page"}},
	DURATIONS_COLUMNS(
		C_DURATIONS, "time in the kernel's handler of huge faults, fallbacks too"),
	[C_ZERO] = {0, {"zero_ns", "ZEROING", CELL_U64, UNIT_NS, 0, "of it, zeroing huge pages"}},
	[C_COMPACTIONS] = {0, {"compactions", "COMPACTED", CELL_U64, UNIT_COUNT, COL_WIDE,
				      "zones compacted directly for huge pages (exact)"}},
	[C_COMPACT] = {0, {"compact_ns", "COMPACTING", CELL_U64, UNIT_NS, 0, "time in that"}},
	[C_RECLAIMS] = {0, {"reclaims", "RECLAIMS", CELL_U64, UNIT_COUNT, COL_WIDE,
				   "direct reclaims for huge pages; of kswapd: times awake for "
				   "them (exact)"}},
	[C_RECLAIM] = {0, {"reclaim_ns", "RECLAIMING", CELL_U64, UNIT_NS, 0, "time in that"}},
	[C_SPLIT_PMD] = {0, {"pmd_splits", "PMD SPLITS", CELL_U64, UNIT_COUNT, 0,
				    "huge mappings split, as thp_split_pmd (exact)"}},
	[C_SPLIT_PAGE] = {0, {"page_splits", "PAGE SPLITS", CELL_U64, UNIT_COUNT, 0,
				     "huge pages split, as thp_split_page (exact)"}},
	[C_STACK] = {BY_STACK, {"stack", "STACK", CELL_STACK, UNIT_NONE, 0,
				       "code path of the fault, split, compaction or reclaim"}},
};

static const struct column each_columns[] = {
	{"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "its end, since the start"},
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id; of scans and collapses: whose memory"},
	{"tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "thread id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread, or of the process"},
	{"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, "control group"},
	{"event", "EVENT", CELL_TEXT, UNIT_NONE, 0,
		"fault, fallback, pmd split, page split; handled: a huge fault with its time; "
		"compaction, reclaim, kswapd: for huge pages; scan, collapse"},
	{"result", "RESULT", CELL_TEXT, UNIT_NONE, 0, "of a scan or collapse"},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "how long it took"},
	{"zero_ns", "ZEROING", CELL_U64, UNIT_NS, COL_WIDE, "handled: of it, zeroing"},
	{"compact_ns", "COMPACTING", CELL_U64, UNIT_NS, COL_WIDE, "handled: of it, compacting"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path"},
};

static const struct by_spec spec = BY_SPEC(columns, struct by_task_key, struct sums);

struct thp_state {
	bool each;
	u64 min_ns;
	struct by_sums sums;
	struct thp_tables tables;
	VEC(struct thp_event) events;
};

static int thp_init(void *state, const struct view_options *o, struct err *err)
{
	struct thp_state *v = state;

	v->each = o->each;
	v->min_ns = o->min_ns;
	thp_tables_init(&v->tables);
	return by_sums_init(&v->sums, &spec, &thp_view, o, err);
}

static int agg_feed(struct thp_state *v, const struct thp_agg *r)
{
	struct by_task_key k =
		by_task_key(v->sums.by, r->tgid, r->tid, r->cgroup, r->stack, r->comm);
	struct sums *s;

	if (r->kind >= THP_KIND_N)
		return 0;
	if (r->kind == THP_SCAN || r->kind == THP_COLLAPSE)
		return thp_tables_agg(&v->tables, r);
	s = groups_get(&v->sums.groups, &k);
	if (!s)
		return -ENOMEM;
	s->count[r->kind] += r->count;
	s->ns[r->kind] += r->total_ns;
	if (r->kind == THP_HANDLED) {
		s->zero_ns += r->sum[HANDLED_ZERO_NS];
		durations_add(&s->handled, r->timed, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	}
	return thp_tables_agg(&v->tables, r);
}

/* The symptoms are tested on single events too. */
static int event_feed(struct thp_state *v, const struct thp_event *e)
{
	struct thp_agg r = {
		.tgid = e->tgid,
		.tid = e->tid,
		.result = e->result,
		.kind = e->kind,
		.flags = e->flags,
		.count = 1,
		.total_ns = e->ns,
		.max_ns = e->ns,
	};

	if (e->kind >= THP_KIND_N || e->ns < v->min_ns)
		return 0;
	memcpy(r.sum, e->sum, sizeof(r.sum));
	memcpy(r.comm, e->comm, sizeof(r.comm));
	return vec_push(&v->events, *e) ? -ENOMEM : thp_tables_agg(&v->tables, &r);
}

static int thp_feed(void *state, const struct rec *r)
{
	struct thp_state *v = state;

	switch (r->kind) {
	case REC_THP_AGG:
		return agg_feed(v, (const struct thp_agg *)r);
	case REC_THP_EVENT:
		return event_feed(v, (const struct thp_event *)r);
	case REC_THP_VALUE:
		return thp_tables_value(&v->tables, (const struct thp_value *)r);
	case REC_THP_PROCESS:
		return thp_tables_process(&v->tables, (const struct thp_process *)r);
	case REC_TASK:
		thp_facts_task(&v->tables.facts, r);
		return 0;
	default:
		return 0;
	}
}

/* What no hook told stays empty. */
struct known {
	bool faults, splits, zeroing;
};

static void row_fill(
	struct cell all[C_N], struct report *r, const struct known *known, const struct sums *s)
{
	u64 faults = s->count[THP_FAULT], fallbacks = s->count[THP_FALLBACK];

	if (known->faults) {
		all[C_FAULTS] = cell_u64(faults);
		all[C_FALLBACKS] = cell_u64(fallbacks);
		if (faults + fallbacks)
			all[C_RATIO] = cell_f64((double)fallbacks / (double)(faults + fallbacks));
	}
	durations_cells(r, &s->handled, &all[C_DURATIONS]);
	if (known->zeroing && s->handled.count)
		all[C_ZERO] = cell_u64(s->zero_ns);
	all[C_COMPACTIONS] = cell_u64(s->count[THP_COMPACT]);
	all[C_COMPACT] = cell_u64(s->ns[THP_COMPACT]);
	all[C_RECLAIMS] = cell_u64(s->count[THP_RECLAIM] + s->count[THP_KSWAPD]);
	all[C_RECLAIM] = cell_u64(s->ns[THP_RECLAIM] + s->ns[THP_KSWAPD]);
	if (known->splits) {
		all[C_SPLIT_PMD] = cell_u64(s->count[THP_SPLIT_PMD]);
		all[C_SPLIT_PAGE] = cell_u64(s->count[THP_SPLIT_PAGE]);
	}
}

/* Whoever maps a huge page zeroes it first. Where the function that is hooked zeroed none, the
 * allocator did: with init_on_alloc=1 since 6.14 (user_alloc_needs_zeroing in linux/mm.h). */
static bool zeroing_was_seen(const struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (((const struct sums *)groups_value(g, i))->zero_ns)
			return true;
	return false;
}

static int sums_report(struct thp_state *v, struct report *r)
{
	struct table *t =
		by_sums_table(&v->sums, r, "faults", "Huge pages, by who gets or splits them");
	const struct groups *g = &v->sums.groups;
	const struct known known = {
		stream_knows(r->stream, "thp", "huge faults, fallbacks by process"),
		stream_knows(r->stream, "thp", "splits by process"),
		zeroing_was_seen(g),
	};
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = known.faults ? "No huge page was faulted in or split in this interval."
				: "Who gets huge pages cannot be seen on this host; the counters "
				  "below can.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		const struct by_task_key *k = groups_key(g, i);
		struct cell all[C_N] = {};

		by_task_cells(r, v->sums.by, k, all);
		all[C_STACK] = cell_stack(k->stack);
		row_fill(all, r, &known, groups_value(g, i));
		rc = by_sums_row(&v->sums, t, all);
	}
	return rc;
}

static int thp_report(void *state, struct report *r)
{
	struct thp_state *v = state;
	int rc = thp_tables_report_first(&v->tables, r);

	r->has_findings = true;
	if (!rc && !v->each)
		rc = sums_report(v, r);
	return rc ? rc : thp_tables_report(&v->tables, r, v->each);
}

static const char *event_name(u8 kind)
{
	static const char *const names[THP_KIND_N] = {
		[THP_OTHER] = "other",
		[THP_FAULT] = "fault",
		[THP_FALLBACK] = "fallback",
		[THP_SPLIT_PMD] = "pmd split",
		[THP_SPLIT_PAGE] = "page split",
		[THP_HANDLED] = "handled",
		[THP_COMPACT] = "compaction",
		[THP_RECLAIM] = "reclaim",
		[THP_KSWAPD] = "kswapd",
		[THP_SCAN] = "scan",
		[THP_COLLAPSE] = "collapse",
	};

	return kind < THP_KIND_N ? names[kind] : "other";
}

static void each_fill(struct cell *row, struct report *r, const struct thp_event *e)
{
	bool result = e->kind == THP_SCAN || e->kind == THP_COLLAPSE;

	row[0] = cell_since(r, e->h.time_ns);
	if (e->tgid || !result) {
		row[1] = cell_u64(e->tgid);
		row[2] = cell_u64(e->tid);
		row[3] = cell_text(report_text(r, "%.16s", e->comm));
	}
	row[4] = cell_text(stream_cgroup(r->stream, e->cgroup));
	row[5] = cell_text(event_name(e->kind));
	row[6] = cell_text(result ? thp_result_name(r, e->result) : NULL);
	row[7] = e->ns ? cell_u64(e->ns) : (struct cell){};
	if (e->kind == THP_HANDLED) {
		row[8] = cell_u64(e->sum[HANDLED_ZERO_NS]);
		row[9] = cell_u64(e->sum[HANDLED_COMPACT_NS]);
	}
	row[10] = cell_stack(e->ustack);
}

static struct table *thp_each(void *state, struct report *r)
{
	struct thp_state *v = state;
	struct table *t = report_table(
		r, "event", "Huge pages, each event", each_columns, ARRAY_SIZE(each_columns));

	table_each (row, t, e, &v->events)
		each_fill(row, r, e);
	v->events.n = 0;
	return t;
}

static void thp_reset(void *state)
{
	struct thp_state *v = state;

	groups_clear(&v->sums.groups);
	thp_tables_reset(&v->tables);
}

static void thp_destroy(void *state)
{
	struct thp_state *v = state;

	by_sums_free(&v->sums);
	thp_tables_free(&v->tables);
	vec_free(&v->events);
}

static const struct view_table tables[] = {
	{"faults", &columns[0].col, C_N, sizeof(columns[0])},
	{"event", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
	{},
};

const struct view thp_view = {
	.tables = (const struct view_table *const[]){thp_side_tables, tables, NULL},
	.size = sizeof(struct thp_state),
	.by_default = "process",
	.by_keys = by_keys,
	.init = thp_init,
	.feed = thp_feed,
	.report = thp_report,
	.each = thp_each,
	.reset = thp_reset,
	.destroy = thp_destroy,
};
