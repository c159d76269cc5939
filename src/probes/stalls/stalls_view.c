/* Stalled allocations as tables: sums by the keys of --by and by step, or one row a stall. */
#include "probes/stalls/stalls_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "analysis/gfp.h"

enum {
	BY_KIND = BY_OWN,
	BY_ORDER = BY_OWN << 1,
	BY_GFP = BY_OWN << 2,
	BY_TRIGGER = BY_OWN << 3,
	BY_NODE = BY_OWN << 4,
	BY_OUTCOME = BY_OWN << 5,
	BY_MIGRATETYPE = BY_OWN << 6,
};

static const char *const by_keys[] = {
	BY_TASK_KEYS, "kind", "order", "gfp", "trigger", "node", "outcome", "migratetype", NULL};

#define THP_ORDER 9 /* where the stream does not tell */

struct key {
	struct by_task_key task;
	u32 gfp;
	s32 syscall, node;
	u8 kind, order, trigger, outcome;
	u32 mobility, reserved;
};

struct sums {
	struct durations stalls;
	u64 reclaim_ns, compact_ns, throttled_ns;
	u64 scanned, reclaimed, migrated;
	u64 retries, failed, killed;
};

struct step_key {
	u8 kind, mode, result, order;
};

struct step_sums {
	struct durations steps;
	u64 scanned, done, failed, wait_ns;
};

enum {
	C_KIND = BY_C_OWN,
	C_TRIGGER,
	C_ORDER,
	C_GFP,
	C_MIGRATETYPE,
	C_NODE,
	C_OUTCOME,
	C_COUNT,
	C_DURATIONS,
	C_SHARE = C_DURATIONS + DURATIONS_N,
	C_RECLAIM,
	C_COMPACT,
	C_THROTTLED,
	C_SCANNED,
	C_RECLAIMED,
	C_MIGRATED,
	C_RETRIES,
	C_FAILED,
	C_KILLED,
	C_STACK,
	C_N,
};

#define KIND_HELP "allocation: of pages, none was free; charge: to a control group at its limit"
#define TRIGGER_HELP                                                                          \
	"what it was for: a page fault of user code, a THP fault (of at least a pageblock), " \
	"the system call by name, a kernel thread, khugepaged"
#define OUTCOME_HELP                                                                            \
	"page: it got its pages; failed; oom: it had a process killed (follows from the steps " \
	"and flags)"

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_KIND] = {BY_KIND, {"kind", "KIND", CELL_TEXT, UNIT_NONE, 0, KIND_HELP}},
	[C_TRIGGER] = {BY_TRIGGER, {"trigger", "TRIGGER", CELL_TEXT, UNIT_NONE, 0, TRIGGER_HELP}},
	[C_ORDER] = {BY_ORDER,
		{"order", "ORDER", CELL_U64, UNIT_ID, 0, "of the allocation: 2^order pages"}},
	[C_GFP] = {BY_GFP, {"gfp", "GFP", CELL_TEXT, UNIT_NONE, 0, "flags of the allocation"}},
	[C_MIGRATETYPE] = {BY_MIGRATETYPE,
		{"migratetype", "TYPE", CELL_TEXT, UNIT_NONE, 0, "migratetype wanted"}},
	[C_NODE] = {BY_NODE,
		{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node of the CPU it began on"}},
	[C_OUTCOME] = {BY_OUTCOME, {"outcome", "OUTCOME", CELL_TEXT, UNIT_NONE, 0, OUTCOME_HELP}},
	[C_COUNT] = {0, {"count", "STALLS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "stalls"}},
	DURATIONS_COLUMNS(C_DURATIONS, "time in them, from the first step to the last"),
	[C_SHARE] = {0, {"share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0,
				"of the interval's time, lost to them; more than 1 when several "
				"threads wait"}},
	[C_RECLAIM] = {0,
		{"reclaim_ns", "RECLAIM", CELL_U64, UNIT_NS, 0, "of the time, in reclaim"}},
	[C_COMPACT] = {0, {"compaction_ns", "COMPACTION", CELL_U64, UNIT_NS, 0,
				  "of the time, in compaction, up to its last event"}},
	[C_THROTTLED] = {0, {"throttled_ns", "THROTTLED", CELL_U64, UNIT_NS, COL_WIDE,
				    "of the time, put to sleep (in steps of a jiffy)"}},
	[C_SCANNED] = {0, {"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, COL_WIDE,
				  "pages scanned by reclaim"}},
	[C_RECLAIMED] = {0, {"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, 0,
				    "pages reclaimed from the LRU lists"}},
	[C_MIGRATED] = {0, {"migrated_pages", "MIGRATED", CELL_U64, UNIT_PAGES, 0,
				   "pages migrated by compaction"}},
	[C_RETRIES] = {0, {"retries", "RETRIES", CELL_U64, UNIT_COUNT, 0,
				  "rounds of reclaim after the first"}},
	[C_FAILED] = {0, {"failed", "FAILED", CELL_U64, UNIT_COUNT, 0,
				 "stalls after which there was no page (see outcome)"}},
	[C_KILLED] = {0,
		{"oom", "OOM", CELL_U64, UNIT_COUNT, COL_WIDE, "stalls that had a process killed"}},
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path of the first step"}},
};

static const struct column step_columns[] = {
	{"step", "STEP", CELL_TEXT, UNIT_NONE, 0, "what was done"},
	{"mode", "MODE", CELL_TEXT, UNIT_NONE, 0, "of compaction: async, sync, sync full"},
	{"result", "RESULT", CELL_TEXT, UNIT_NONE, 0,
		"compaction: page, or no page after it (from events that also tell of zones: "
		"rarely one is taken for the other); reclaim: progress as reported to the "
		"allocator (also when compaction can do the rest), or none; retry: as the kernel "
		"decided, or after the OOM killer had its turn"},
	{"status", "STATUS", CELL_TEXT, UNIT_NONE, 0,
		"of compaction: the highest enum compact_result of its zones"},
	{"order", "ORDER", CELL_U64, UNIT_ID, COL_WIDE, "of the allocation, with --by order"},
	{"count", "STEPS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "steps (exact)"},
	{"total_ns", "TIME", CELL_U64, UNIT_NS, 0, "their time"},
	{"p50_ns", "P50", CELL_U64, UNIT_NS, COL_LESSER,
		"median duration (estimated from a log2 histogram)"},
	{"p99_ns", "P99", CELL_U64, UNIT_NS, COL_LESSER,
		"99th percentile (estimated from a log2 histogram)"},
	{"max_ns", "MAX", CELL_U64, UNIT_NS, 0, "longest (since the start)"},
	{"hist", "DURATIONS", CELL_HIST, UNIT_NS, COL_WIDE, "log2 histogram of the durations"},
	{"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0,
		"by reclaim as pgscan_* counts, by compaction as compact_migrate_scanned"},
	{"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, 0,
		"by reclaim, as pgsteal_* counts"},
	{"migrated_pages", "MIGRATED", CELL_U64, UNIT_PAGES, 0, "by compaction"},
	{"failed_pages", "NOT MIGRATED", CELL_U64, UNIT_PAGES, 0,
		"pages that compaction tried to migrate in vain"},
	{"throttled_ns", "THROTTLED", CELL_U64, UNIT_NS, 0, "of the time, put to sleep"},
};

static const struct column each_columns[] = {
	EACH_COLUMNS("when it began, since the start"),
	{"kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, KIND_HELP},
	{"trigger", "TRIGGER", CELL_TEXT, UNIT_NONE, 0, TRIGGER_HELP},
	{"address", "ADDRESS", CELL_TEXT, UNIT_NONE, COL_WIDE, "that faulted"},
	{"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, COL_WIDE, "what the address is in"},
	{"node", "NODE", CELL_U64, UNIT_ID, COL_WIDE, "NUMA node of the CPU it began on"},
	{"order", "ORDER", CELL_U64, UNIT_ID, 0, "of the allocation: 2^order pages"},
	{"gfp", "GFP", CELL_TEXT, UNIT_NONE, COL_WIDE, "flags of the allocation"},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "from its first step to its last"},
	{"outcome", "OUTCOME", CELL_TEXT, UNIT_NONE, 0, OUTCOME_HELP},
	{"reclaim_ns", "RECLAIM", CELL_U64, UNIT_NS, COL_WIDE, "of the time, in reclaim"},
	{"compaction_ns", "COMPACTION", CELL_U64, UNIT_NS, COL_WIDE, "of the time, in compaction"},
	{"throttled_ns", "THROTTLED", CELL_U64, UNIT_NS, COL_WIDE, "of the time, put to sleep"},
	{"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, COL_WIDE, "by reclaim"},
	{"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, COL_WIDE, "by reclaim"},
	{"migrated_pages", "MIGRATED", CELL_U64, UNIT_PAGES, COL_WIDE, "by compaction"},
	{"retries", "RETRIES", CELL_U64, UNIT_COUNT, COL_WIDE, "rounds after the first"},
	{"steps", "STEPS", CELL_U64, UNIT_COUNT, COL_WIDE, "how many"},
	{"story", "STORY", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"its steps in order, each with its time and result; after 15 the sum of the rest"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path of the first step"},
	{"migratetype", "TYPE", CELL_TEXT, UNIT_NONE, COL_WIDE, "migratetype wanted"},
};

static const struct by_spec spec = BY_SPEC(columns, struct key, struct sums);

struct stalls_view_state {
	u64 min_ns;
	u8 thp_order;
	struct by_sums sums;
	struct groups steps;
	VEC(struct stalls_event) events;
};

static int stalls_init(void *state, const struct view_options *o, struct err *err)
{
	struct stalls_view_state *v = state;

	v->min_ns = o->min_ns;
	v->thp_order = THP_ORDER;
	groups_init(&v->steps, sizeof(struct step_key), sizeof(struct step_sums));
	return by_sums_init(&v->sums, &spec, &stalls_view, o, err);
}

static int agg_feed(struct stalls_view_state *v, const struct stalls_agg *r)
{
	u32 by = v->sums.by;
	struct sums *s;
	struct key k;

	memset(&k, 0, sizeof(k));
	k.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm);
	k.gfp = by & BY_GFP ? r->gfp : 0;
	k.mobility = by & BY_MIGRATETYPE ? r->gfp & GFP_MOBILITY : 0;
	k.kind = by & BY_KIND ? r->kind : 0;
	k.node = by & BY_NODE ? r->node : 0;
	k.outcome = by & BY_OUTCOME ? r->outcome : 0;
	k.trigger = by & BY_TRIGGER ? r->trigger : 0;
	k.syscall = by & BY_TRIGGER ? r->syscall : 0;
	if (by & BY_ORDER)
		k.order = r->order;
	else if (by & BY_TRIGGER && r->order >= v->thp_order)
		k.order = v->thp_order; /* tells THP faults from others */
	s = groups_get(&v->sums.groups, &k);
	if (!s)
		return -ENOMEM;
	durations_add(&s->stalls, r->count, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	s->reclaim_ns += r->reclaim_ns;
	s->compact_ns += r->compact_ns;
	s->throttled_ns += r->throttled_ns;
	s->scanned += r->scanned;
	s->reclaimed += r->reclaimed;
	s->migrated += r->migrated;
	s->retries += r->retries;
	s->failed += r->outcome == STALLS_FAILED ? r->count : 0;
	s->killed += r->outcome == STALLS_OOM ? r->count : 0;
	return 0;
}

static int step_feed(struct stalls_view_state *v, const struct stalls_step_agg *r)
{
	struct step_key k = {.kind = r->kind,
		.mode = r->mode,
		.result = r->result,
		.order = v->sums.by & BY_ORDER ? r->order : 0};
	struct step_sums *s = groups_get(&v->steps, &k);

	if (!s)
		return -ENOMEM;
	durations_add(&s->steps, r->count, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	s->scanned += r->scanned;
	s->done += r->done;
	s->failed += r->failed;
	s->wait_ns += r->wait_ns;
	return 0;
}

static int stalls_feed(void *state, const struct rec *r)
{
	struct stalls_view_state *v = state;
	const struct stalls_event *e = (const struct stalls_event *)r;

	if (r->kind == REC_HOST && ((const struct rec_host *)r)->pageblock_order)
		v->thp_order = (u8)((const struct rec_host *)r)->pageblock_order;
	if (r->kind == REC_STALLS_AGG)
		return agg_feed(v, (const struct stalls_agg *)r);
	if (r->kind == REC_STALLS_STEP)
		return step_feed(v, (const struct stalls_step_agg *)r);
	if (r->kind == REC_STALLS_EVENT && e->ns >= v->min_ns)
		return vec_push(&v->events, *e);
	return 0;
}

static struct cell trigger_cell(
	const struct stalls_view_state *v, struct report *r, u8 trigger, u8 order, s32 number)
{
	_cleanup_str_ struct str s = {};

	stalls_trigger_add(&s, trigger, order, number, v->thp_order);
	return s.len ? cell_text(report_text(r, "%s", str_get(&s))) : (struct cell){};
}

static void row_fill(struct cell all[C_N], const struct stalls_view_state *v, struct report *r,
	const struct key *k, const struct sums *s)
{
	u64 interval = stream_interval_ns(r->stream);

	by_task_cells(r, v->sums.by, &k->task, all);
	all[C_KIND] = cell_text(stalls_kind_name(k->kind));
	all[C_TRIGGER] = trigger_cell(v, r, k->trigger, k->order, k->syscall);
	all[C_ORDER] = cell_u64(k->order);
	all[C_GFP] = cell_text(gfp_text(r, k->gfp));
	all[C_MIGRATETYPE] = cell_text(gfp_migratetype(k->mobility));
	all[C_NODE] = cell_node(k->node);
	all[C_OUTCOME] = cell_text(stalls_outcome_name(k->outcome));
	all[C_COUNT] = cell_u64(s->stalls.count);
	durations_cells(r, &s->stalls, &all[C_DURATIONS]);
	if (interval)
		all[C_SHARE] = cell_f64((double)s->stalls.total_ns / (double)interval);
	all[C_RECLAIM] = cell_u64(s->reclaim_ns);
	all[C_COMPACT] = cell_u64(s->compact_ns);
	all[C_THROTTLED] = cell_u64(s->throttled_ns);
	all[C_SCANNED] = cell_u64(s->scanned);
	all[C_RECLAIMED] = cell_u64(s->reclaimed);
	all[C_MIGRATED] = cell_u64(s->migrated);
	all[C_RETRIES] = cell_u64(s->retries);
	all[C_FAILED] = cell_u64(s->failed);
	all[C_KILLED] = cell_u64(s->killed);
	all[C_STACK] = cell_stack(k->task.stack);
}

static int stalls_table(struct stalls_view_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->sums, r, "stalls", "Stalled allocations");
	const struct groups *g = &v->sums.groups;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	t->empty = "No stalls: every allocation got its pages at once in this interval.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		struct cell all[C_N] = {};

		row_fill(all, v, r, groups_key(g, i), groups_value(g, i));
		rc = by_sums_row(&v->sums, t, all);
	}
	return rc;
}

static void step_fill(struct cell *row, struct report *r, const struct step_key *k,
	const struct step_sums *s, bool by_order)
{
	bool compaction = k->kind == STALLS_COMPACT;
	bool reclaim = k->kind >= STALLS_DIRECT && k->kind <= STALLS_NODE;

	row[0] = cell_text(stalls_step_name(k->kind));
	row[1] = cell_text(stalls_mode_name(k->kind, k->mode));
	row[2] = cell_text(stalls_result_name(k->kind, k->result));
	row[3] = cell_text(stalls_status_name(k->kind, k->result));
	row[4] = by_order ? cell_u64(k->order) : (struct cell){};
	row[5] = cell_u64(s->steps.count);
	durations_cells(r, &s->steps, &row[6]);
	if (compaction || reclaim) {
		row[11] = cell_u64(s->scanned);
		row[compaction ? 13 : 12] = cell_u64(s->done);
		row[15] = cell_u64(s->wait_ns);
	}
	if (compaction)
		row[14] = cell_u64(s->failed);
}

static int steps_table(struct stalls_view_state *v, struct report *r)
{
	struct table *t = report_table(
		r, "steps", "What they did meanwhile", step_columns, ARRAY_SIZE(step_columns));

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	for (size_t i = 0; i < v->steps.n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		step_fill(row, r, groups_key(&v->steps, i), groups_value(&v->steps, i),
			v->sums.by & BY_ORDER);
	}
	return 0;
}

static int stalls_report(void *state, struct report *r)
{
	struct stalls_view_state *v = state;
	int rc = stalls_table(v, r);

	return rc ? rc : steps_table(v, r);
}

static void each_fill(struct cell *row, const struct stalls_view_state *v, struct report *r,
	const struct stalls_event *e)
{
	const char *mapping = stream_string(r->stream, e->mapping);
	_cleanup_str_ struct str story = {};

	stalls_story_add(&story, r->stream, e);
	each_cells(r, e->start_ns, e->tgid, e->tid, e->comm, e->cgroup, row);
	row[5] = cell_text(stalls_kind_name(e->kind));
	row[6] = trigger_cell(v, r, e->trigger, e->order, e->syscall);
	if (e->address)
		row[7] = cell_text(report_text(r, "0x%llx", e->address));
	row[8] = e->mapping ? cell_text(mapping) : (struct cell){};
	row[9] = cell_node(e->node);
	row[10] = cell_u64(e->order);
	row[11] = cell_text(gfp_text(r, e->gfp));
	row[12] = cell_u64(e->ns);
	row[13] = cell_text(stalls_outcome_name(e->outcome));
	row[14] = cell_u64(e->reclaim_ns);
	row[15] = cell_u64(e->compact_ns);
	row[16] = cell_u64(e->throttled_ns);
	row[17] = cell_u64(e->scanned);
	row[18] = cell_u64(e->reclaimed);
	row[19] = cell_u64(e->migrated);
	row[20] = cell_u64(e->retries);
	row[21] = cell_u64(e->n_steps);
	row[22] = cell_text(report_text(r, "%s", str_get(&story)));
	row[23] = cell_stack(e->ustack);
	row[24] = cell_text(gfp_migratetype(e->gfp));
}

static struct table *stalls_each(void *state, struct report *r)
{
	struct stalls_view_state *v = state;
	struct table *t = report_table(
		r, "stall", "Stalled allocations, each", each_columns, ARRAY_SIZE(each_columns));

	table_each (row, t, e, &v->events)
		each_fill(row, v, r, e);
	v->events.n = 0;
	return t;
}

static void stalls_reset(void *state)
{
	struct stalls_view_state *v = state;

	groups_clear(&v->sums.groups);
	groups_clear(&v->steps);
}

static void stalls_destroy(void *state)
{
	struct stalls_view_state *v = state;

	by_sums_free(&v->sums);
	groups_free(&v->steps);
	vec_free(&v->events);
}

static const struct view_table tables[] = {
	{"stalls", &columns[0].col, C_N, sizeof(columns[0])},
	{"steps", step_columns, ARRAY_SIZE(step_columns), sizeof(step_columns[0])},
	{"stall", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
	{},
};

const struct view stalls_view = {
	.tables = (const struct view_table *const[]){tables, NULL},
	.size = sizeof(struct stalls_view_state),
	.by_default = "process,kind",
	.by_keys = by_keys,
	.init = stalls_init,
	.feed = stalls_feed,
	.report = stalls_report,
	.each = stalls_each,
	.times_each = true,
	.reset = stalls_reset,
	.destroy = stalls_destroy,
};
