/* Stalled allocations as tables: sums by the keys of --by and by step, or one row a stall. */
#include "probes/stalls/stalls_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "analysis/gfp_text.h"

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

#define KIND_HELP "allocation: of pages, none was free; charge: to a control group at its limit"
#define TRIGGER_HELP                                                                          \
	"what it was for: a page fault of user code, a THP fault (of at least a pageblock), " \
	"the system call by name, a kernel thread, khugepaged"
#define OUTCOME_HELP                                                                            \
	"page: it got its pages; failed; oom: it had a process killed (follows from the steps " \
	"and flags)"

struct stalls_view_state {
	u64 min_ns;
	u8 thp_order;
	struct by_sums sums;
	struct groups steps;
	VEC(struct stalls_event) events;
};

#define ORDER_HELP "of the allocation: 2^order pages"
#define NODE_HELP "NUMA node of the CPU it began on"
#define STACK_HELP "code path of the first step"

/* Members of the key of the sums, and of a stall. */
static CELL_GET(kind_cell)
{
	return cell_text(stalls_kind_name(*((const u8 *)row->key + offset)));
}

static CELL_GET(outcome_cell)
{
	return cell_text(stalls_outcome_name(*((const u8 *)row->key + offset)));
}

static struct cell trigger_text(
	const struct stalls_view_state *v, struct report *r, u8 trigger, u8 order, s32 number)
{
	_cleanup_str_ struct str s = {};

	stalls_trigger_add(&s, trigger, order, number, v->thp_order);
	return cell_str(r, &s);
}

static CELL_GET(trigger_cell)
{
	const struct key *k = row->key;

	return trigger_text(row->view, r, k->trigger, k->order, k->syscall);
}

static CELL_GET(share_cell)
{
	return cell_ratio(
		((const struct sums *)row->sums)->stalls.total_ns, stream_interval_ns(r->stream));
}

#define SUM(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct sums, member_, name_, title_, unit_, flags_, help_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_FROM(BY_KIND, struct key, kind, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0, KIND_HELP,
		kind_cell),
	CELL_BY(BY_TRIGGER, "trigger", "TRIGGER", CELL_TEXT, UNIT_NONE, 0, TRIGGER_HELP,
		trigger_cell),
	CELL_KEY(BY_ORDER, struct key, order, "order", "ORDER", UNIT_ID, 0, ORDER_HELP),
	CELL_FROM(BY_GFP, struct key, gfp, "gfp", "GFP", CELL_TEXT, UNIT_NONE, 0,
		"flags of the allocation", gfp_cell),
	CELL_FROM(BY_MIGRATETYPE, struct key, mobility, "migratetype", "TYPE", CELL_TEXT, UNIT_NONE,
		0, "migratetype wanted", gfp_migratetype_cell),
	CELL_FROM(BY_NODE, struct key, node, "node", "NODE", CELL_U64, UNIT_ID, 0, NODE_HELP,
		cell_of_node),
	CELL_FROM(BY_OUTCOME, struct key, outcome, "outcome", "OUTCOME", CELL_TEXT, UNIT_NONE, 0,
		OUTCOME_HELP, outcome_cell),
	CELL_COUNT(struct sums, stalls.count, "STALLS", "stalls"),
	DURATIONS_CELLS(struct sums, stalls, "time in them, from the first step to the last"),
	CELL_BY(0, "share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0,
		"of the interval's time, lost to them; more than 1 when several threads wait",
		share_cell),
	SUM(reclaim_ns, "reclaim_ns", "RECLAIM", UNIT_NS, 0, "of the time, in reclaim"),
	SUM(compact_ns, "compaction_ns", "COMPACTION", UNIT_NS, 0,
		"of the time, in compaction, up to its last event"),
	SUM(throttled_ns, "throttled_ns", "THROTTLED", UNIT_NS, COL_WIDE,
		"of the time, put to sleep (in steps of a jiffy)"),
	SUM(scanned, "scanned_pages", "SCANNED", UNIT_PAGES, COL_WIDE, "pages scanned by reclaim"),
	SUM(reclaimed, "reclaimed_pages", "RECLAIMED", UNIT_PAGES, 0,
		"pages reclaimed from the LRU lists"),
	SUM(migrated, "migrated_pages", "MIGRATED", UNIT_PAGES, 0, "pages migrated by compaction"),
	SUM(retries, "retries", "RETRIES", UNIT_COUNT, 0, "rounds of reclaim after the first"),
	SUM(failed, "failed", "FAILED", UNIT_COUNT, 0,
		"stalls after which there was no page (see outcome)"),
	SUM(killed, "oom", "OOM", UNIT_COUNT, COL_WIDE, "stalls that had a process killed"),
	BY_STACK_CELLS(STACK_HELP),
};

static bool step_compacts(const struct step_key *k)
{
	return k->kind == STALLS_COMPACT;
}

static bool step_reclaims(const struct step_key *k)
{
	return k->kind >= STALLS_DIRECT && k->kind <= STALLS_NODE;
}

static CELL_GET(step_cell)
{
	return cell_text(stalls_step_name(((const struct step_key *)row->key)->kind));
}

static CELL_GET(step_mode_cell)
{
	const struct step_key *k = row->key;

	return cell_text(stalls_mode_name(k->kind, k->mode));
}

static CELL_GET(step_result_cell)
{
	const struct step_key *k = row->key;

	return cell_text(stalls_result_name(k->kind, k->result));
}

static CELL_GET(step_status_cell)
{
	const struct step_key *k = row->key;

	return cell_text(stalls_status_name(k->kind, k->result));
}

static CELL_GET(step_order_cell)
{
	return ((const struct stalls_view_state *)row->view)->sums.by & BY_ORDER
		       ? cell_of_key_u8(r, row, offset)
		       : (struct cell){};
}

/* Of steps that look at pages, of those that free them, and of those that move them. */
static CELL_GET(step_pages_cell)
{
	return step_compacts(row->key) || step_reclaims(row->key) ? cell_of_u64(r, row, offset)
								  : (struct cell){};
}

static CELL_GET(step_reclaimed_cell)
{
	return step_reclaims(row->key) ? cell_of_u64(r, row, offset) : (struct cell){};
}

static CELL_GET(step_migrated_cell)
{
	return step_compacts(row->key) ? cell_of_u64(r, row, offset) : (struct cell){};
}

#define STEP(member_, name_, title_, unit_, help_, get_) \
	CELL_FROM(0, struct step_sums, member_, name_, title_, CELL_U64, unit_, 0, help_, get_)

static const struct cell_column step_columns[] = {
	CELL_BY(0, "step", "STEP", CELL_TEXT, UNIT_NONE, 0, "what was done", step_cell),
	CELL_BY(0, "mode", "MODE", CELL_TEXT, UNIT_NONE, 0, "of compaction: async, sync, sync full",
		step_mode_cell),
	CELL_BY(0, "result", "RESULT", CELL_TEXT, UNIT_NONE, 0,
		"compaction: page, or no page after it (from events that also tell of zones: "
		"rarely one is taken for the other); reclaim: progress as reported to the "
		"allocator (also when compaction can do the rest), or none; retry: as the kernel "
		"decided, or after the OOM killer had its turn",
		step_result_cell),
	CELL_BY(0, "status", "STATUS", CELL_TEXT, UNIT_NONE, 0,
		"of compaction: the highest enum compact_result of its zones", step_status_cell),
	CELL_FROM(0, struct step_key, order, "order", "ORDER", CELL_U64, UNIT_ID, COL_WIDE,
		"of the allocation, with --by order", step_order_cell),
	CELL_COUNT(struct step_sums, steps.count, "STEPS", "steps (exact)"),
	DURATIONS_CELLS(struct step_sums, steps, "their time"),
	STEP(scanned, "scanned_pages", "SCANNED", UNIT_PAGES,
		"by reclaim as pgscan_* counts, by compaction as compact_migrate_scanned",
		step_pages_cell),
	STEP(done, "reclaimed_pages", "RECLAIMED", UNIT_PAGES, "by reclaim, as pgsteal_* counts",
		step_reclaimed_cell),
	STEP(done, "migrated_pages", "MIGRATED", UNIT_PAGES, "by compaction", step_migrated_cell),
	STEP(failed, "failed_pages", "NOT MIGRATED", UNIT_PAGES,
		"pages that compaction tried to migrate in vain", step_migrated_cell),
	STEP(wait_ns, "throttled_ns", "THROTTLED", UNIT_NS, "of the time, put to sleep",
		step_pages_cell),
};

static const struct cell_table steps_table = {
	CELL_TABLE("steps", "What happened during the stalls", "total_ns", NULL, step_columns)};

static CELL_GET(each_trigger_cell)
{
	const struct stalls_event *e = row->sums;

	return trigger_text(row->view, r, e->trigger, e->order, e->syscall);
}

static CELL_GET(began_cell)
{
	return cell_since(r, ((const struct stalls_event *)row->sums)->start_ns);
}

static CELL_GET(address_cell)
{
	u64 address = ((const struct stalls_event *)row->sums)->address;

	return address ? cell_text(report_text(r, "0x%llx", address)) : (struct cell){};
}

static CELL_GET(mapping_cell)
{
	u32 mapping = ((const struct stalls_event *)row->sums)->mapping;

	return mapping ? cell_text(stream_string(r->stream, mapping)) : (struct cell){};
}

static CELL_GET(story_cell)
{
	_cleanup_str_ struct str story = {};

	stalls_story_add(&story, r->stream, row->sums);
	return cell_text(report_text(r, "%s", str_get(&story)));
}

#define STALL(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct stalls_event, member_, name_, title_, unit_, flags_, help_)
#define STALL_FROM(member_, name_, title_, kind_, unit_, flags_, help_, get_) \
	CELL_FROM(0, struct stalls_event, member_, name_, title_, kind_, unit_, flags_, help_, get_)

static const struct cell_column each_columns[] = {
	EACH_CELLS(struct stalls_event, "when it began, since the start", began_cell),
	STALL_FROM(kind, "kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, KIND_HELP, kind_cell),
	CELL_BY(0, "trigger", "TRIGGER", CELL_TEXT, UNIT_NONE, 0, TRIGGER_HELP, each_trigger_cell),
	CELL_BY(0, "address", "ADDRESS", CELL_TEXT, UNIT_NONE, COL_WIDE, "that faulted",
		address_cell),
	CELL_BY(0, "mapping", "MAPPING", CELL_TEXT, UNIT_NONE, COL_WIDE, "what the address is in",
		mapping_cell),
	STALL_FROM(node, "node", "NODE", CELL_U64, UNIT_ID, COL_WIDE, NODE_HELP, cell_of_node),
	STALL(order, "order", "ORDER", UNIT_ID, 0, ORDER_HELP),
	STALL_FROM(gfp, "gfp", "GFP", CELL_TEXT, UNIT_NONE, COL_WIDE, "flags of the allocation",
		gfp_cell),
	STALL(ns, "duration_ns", "DURATION", UNIT_NS, 0, "from its first step to its last"),
	STALL_FROM(
		outcome, "outcome", "OUTCOME", CELL_TEXT, UNIT_NONE, 0, OUTCOME_HELP, outcome_cell),
	STALL(reclaim_ns, "reclaim_ns", "RECLAIM", UNIT_NS, COL_WIDE, "of the time, in reclaim"),
	STALL(compact_ns, "compaction_ns", "COMPACTION", UNIT_NS, COL_WIDE,
		"of the time, in compaction"),
	STALL(throttled_ns, "throttled_ns", "THROTTLED", UNIT_NS, COL_WIDE,
		"of the time, put to sleep"),
	STALL(scanned, "scanned_pages", "SCANNED", UNIT_PAGES, COL_WIDE, "by reclaim"),
	STALL(reclaimed, "reclaimed_pages", "RECLAIMED", UNIT_PAGES, COL_WIDE, "by reclaim"),
	STALL(migrated, "migrated_pages", "MIGRATED", UNIT_PAGES, COL_WIDE, "by compaction"),
	STALL(retries, "retries", "RETRIES", UNIT_COUNT, COL_WIDE, "rounds after the first"),
	STALL(n_steps, "steps", "STEPS", UNIT_COUNT, COL_WIDE, "how many"),
	CELL_BY(0, "story", "STORY", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"its steps in order, each with its time and result; after 15 the sum of the rest",
		story_cell),
	CELL_STACK_OF(struct stalls_event, ustack, STACK_HELP),
	STALL_FROM(gfp, "migratetype", "TYPE", CELL_TEXT, UNIT_NONE, COL_WIDE, "migratetype wanted",
		gfp_migratetype_cell),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums);

static int stalls_init(void *state, const struct view_options *o, struct err *err)
{
	struct stalls_view_state *v = state;

	v->min_ns = view_min_ns(o);
	v->thp_order = THP_ORDER;
	groups_init(&v->steps, sizeof(struct step_key), sizeof(struct step_sums));
	return by_sums_init(&v->sums, &spec, &stalls_view, o, err);
}

static int stalls_view_agg_feed(struct stalls_view_state *v, const struct stalls_agg *r)
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
		return stalls_view_agg_feed(v, (const struct stalls_agg *)r);
	if (r->kind == REC_STALLS_STEP)
		return step_feed(v, (const struct stalls_step_agg *)r);
	if (r->kind == REC_STALLS_EVENT && e->ns >= v->min_ns)
		return vec_push(&v->events, *e);
	return 0;
}

static int stalls_report(void *state, struct report *r)
{
	struct stalls_view_state *v = state;
	struct table *t = by_sums_show_with(&v->sums, r, "stalls", "Stalled allocations", v);

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	t->empty = "No stalls: every allocation got its pages at once in this interval.";
	return cells_report(r, &steps_table, &v->steps, v);
}

static struct table *stalls_each(void *state, struct report *r)
{
	struct stalls_view_state *v = state;
	struct table *t = cells_table(
		r, "stall", "Stalled allocations, each", each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &v->events, v);
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
	CELLS_VIEW("stalls", columns),
	CELLS_VIEW("steps", step_columns),
	CELLS_VIEW("stall", each_columns),
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
