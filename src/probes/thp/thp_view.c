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

/* What no hook told stays empty (struct row_of, view). */
struct known {
	bool faults, splits, zeroing;
};

static CELL_GET(fault_cell)
{
	return ((const struct known *)row->view)->faults ? cell_of_u64(r, row, offset)
							 : (struct cell){};
}

static CELL_GET(fallback_ratio_cell)
{
	const struct sums *s = row->sums;
	u64 faults = s->count[THP_FAULT], fallbacks = s->count[THP_FALLBACK];

	return ((const struct known *)row->view)->faults ? cell_ratio(fallbacks, faults + fallbacks)
							 : (struct cell){};
}

static CELL_GET(zero_cell)
{
	const struct sums *s = row->sums;

	return ((const struct known *)row->view)->zeroing && s->handled.count ? cell_u64(s->zero_ns)
									      : (struct cell){};
}

static CELL_GET(reclaims_cell)
{
	const struct sums *s = row->sums;

	return cell_u64(s->count[THP_RECLAIM] + s->count[THP_KSWAPD]);
}

static CELL_GET(reclaim_time_cell)
{
	const struct sums *s = row->sums;

	return cell_u64(s->ns[THP_RECLAIM] + s->ns[THP_KSWAPD]);
}

static CELL_GET(split_cell)
{
	return ((const struct known *)row->view)->splits ? cell_of_u64(r, row, offset)
							 : (struct cell){};
}

#define SUM(member_, name_, title_, unit_, flags_, help_, get_) \
	CELL_FROM(0, struct sums, member_, name_, title_, CELL_U64, unit_, flags_, help_, get_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	SUM(count[THP_FAULT], "count", "HUGE", UNIT_COUNT, COL_WEIGHT,
		"faults that got a huge page, as thp_fault_alloc (exact)", fault_cell),
	SUM(count[THP_FALLBACK], "fallbacks", "FALLBACK", UNIT_COUNT, 0,
		"faults that got small pages instead, as thp_fault_fallback (exact)", fault_cell),
	CELL_BY(0, "fallback_ratio", "SHARE", CELL_F64, UNIT_RATIO, COL_WIDE,
		"fallbacks of all faults that could have had a huge page", fallback_ratio_cell),
	DURATIONS_CELLS(
		struct sums, handled, "time in the kernel's handler of huge faults, fallbacks too"),
	CELL_BY(0, "zero_ns", "ZEROING", CELL_U64, UNIT_NS, 0, "of it, zeroing huge pages",
		zero_cell),
	SUM(count[THP_COMPACT], "compactions", "COMPACTED", UNIT_COUNT, COL_WIDE,
		"zones compacted directly for huge pages (exact)", cell_of_u64),
	SUM(ns[THP_COMPACT], "compact_ns", "COMPACTING", UNIT_NS, 0, "time in that", cell_of_u64),
	CELL_BY(0, "reclaims", "RECLAIMS", CELL_U64, UNIT_COUNT, COL_WIDE,
		"direct reclaims for huge pages; of kswapd: times awake for them (exact)",
		reclaims_cell),
	CELL_BY(0, "reclaim_ns", "RECLAIMING", CELL_U64, UNIT_NS, 0, "time in that",
		reclaim_time_cell),
	SUM(count[THP_SPLIT_PMD], "pmd_splits", "PMD SPLITS", UNIT_COUNT, 0,
		"huge mappings split, as thp_split_pmd (exact)", split_cell),
	SUM(count[THP_SPLIT_PAGE], "page_splits", "PAGE SPLITS", UNIT_COUNT, 0,
		"huge pages split, as thp_split_page (exact)", split_cell),
	BY_STACK_CELLS("code path of the fault, split, compaction or reclaim"),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct by_task_key, struct sums);

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

static bool has_result(const struct thp_event *e)
{
	return e->kind == THP_SCAN || e->kind == THP_COLLAPSE;
}

/* A scan or collapse of no known process has no task. */
static bool has_task(const struct row_of *row)
{
	const struct thp_event *e = row->sums;

	return e->tgid || !has_result(e);
}

static CELL_GET(each_id_cell)
{
	return has_task(row) ? cell_of_u32(r, row, offset) : (struct cell){};
}

static CELL_GET(each_comm_cell)
{
	return has_task(row) ? cell_of_comm(r, row, offset) : (struct cell){};
}

static CELL_GET(event_cell)
{
	return cell_text(event_name(((const struct thp_event *)row->sums)->kind));
}

static CELL_GET(result_cell)
{
	const struct thp_event *e = row->sums;

	return cell_text(has_result(e) ? thp_result_name(r, e->result) : NULL);
}

/* Of one part of a huge fault. */
static CELL_GET(handled_cell)
{
	return ((const struct thp_event *)row->sums)->kind == THP_HANDLED
		       ? cell_of_u64(r, row, offset)
		       : (struct cell){};
}

#define EVENT(member_, name_, title_, kind_, unit_, flags_, help_, get_) \
	CELL_FROM(0, struct thp_event, member_, name_, title_, kind_, unit_, flags_, help_, get_)

static const struct cell_column each_columns[] = {
	EVENT(h.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0, "its end, since the start",
		cell_of_time),
	EVENT(tgid, "pid", "PID", CELL_U64, UNIT_ID, 0,
		"process id; of scans and collapses: whose memory", each_id_cell),
	EVENT(tid, "tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "thread id", each_id_cell),
	EVENT(comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the thread, or of the process", each_comm_cell),
	EVENT(cgroup, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, "control group",
		cell_of_cgroup),
	CELL_BY(0, "event", "EVENT", CELL_TEXT, UNIT_NONE, 0,
		"fault, fallback, pmd split, page split; handled: a huge fault with its time; "
		"compaction, reclaim, kswapd: for huge pages; scan, collapse",
		event_cell),
	CELL_BY(0, "result", "RESULT", CELL_TEXT, UNIT_NONE, 0, "of a scan or collapse",
		result_cell),
	EVENT(ns, "duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "how long it took",
		cell_of_known),
	EVENT(sum[HANDLED_ZERO_NS], "zero_ns", "ZEROING", CELL_U64, UNIT_NS, COL_WIDE,
		"handled: of it, zeroing", handled_cell),
	EVENT(sum[HANDLED_COMPACT_NS], "compact_ns", "COMPACTING", CELL_U64, UNIT_NS, COL_WIDE,
		"handled: of it, compacting", handled_cell),
	CELL_STACK_OF(struct thp_event, ustack, "code path"),
};

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

static int thp_view_agg_feed(struct thp_state *v, const struct thp_agg *r)
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
static int thp_view_event_feed(struct thp_state *v, const struct thp_event *e)
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
	if (v->each && vec_push(&v->events, *e))
		return -ENOMEM;
	return thp_tables_agg(&v->tables, &r);
}

static int thp_feed(void *state, const struct rec *r)
{
	struct thp_state *v = state;

	switch (r->kind) {
	case REC_THP_AGG:
		return thp_view_agg_feed(v, (const struct thp_agg *)r);
	case REC_THP_EVENT:
		return thp_view_event_feed(v, (const struct thp_event *)r);
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
	const struct known known = {
		stream_knows(r->stream, "thp", "huge faults, fallbacks by process"),
		stream_knows(r->stream, "thp", "splits by process"),
		zeroing_was_seen(&v->sums.groups),
	};
	struct table *t = by_sums_show_with(
		&v->sums, r, "faults", "Huge pages, by who gets or splits them", &known);

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = known.faults ? "No huge page was faulted in or split in this interval."
				: "Who gets huge pages cannot be seen on this host; the counters "
				  "below can.";
	return 0;
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

static struct table *thp_each(void *state, struct report *r)
{
	struct thp_state *v = state;
	struct table *t = cells_table(
		r, "event", "Huge pages, each event", each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &v->events, NULL);
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
	CELLS_VIEW("faults", columns),
	CELLS_VIEW("event", each_columns),
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
