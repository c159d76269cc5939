/* See policy_view.h: calls by the keys of --by or one row each, or (`show`) what is in force. */
#include "probes/policy/policy_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "probes/policy/policy_each.h"
#include "probes/policy/policy_judge.h"
#include "probes/policy/policy_problems.h"
#include "probes/policy/policy_tables.h"
#include "probes/policy/policy_words.h"

enum { BY_CALL = BY_OWN, BY_MODE = BY_OWN << 1, BY_ERROR = BY_OWN << 2 };

static const char *const by_keys[] = {BY_TASK_KEYS, "call", "mode", "error", NULL};

struct key {
	struct by_task_key task;
	u32 call, mode, error;
	u32 reserved;
};

struct sums {
	u64 calls, failed;
	struct durations took;
	u64 pages, moved, unmoved;
	u64 on_before, off_before, on_after, off_after;
};

static CELL_GET(call_cell)
{
	_cleanup_str_ struct str text = {};

	policy_call_name_add(&text, ((const struct key *)row->key)->call);
	return cell_str(r, &text);
}

static CELL_GET(mode_cell)
{
	u32 mode = ((const struct key *)row->key)->mode;
	_cleanup_str_ struct str text = {};

	if (!mode)
		return (struct cell){};
	flags_add(&text, mempolicy_modes, mode - 1);
	return cell_str(r, &text);
}

static CELL_GET(error_cell)
{
	u32 error = ((const struct key *)row->key)->error;
	_cleanup_str_ struct str text = {};

	if (!error)
		return (struct cell){};
	policy_errno_add(&text, (int)error);
	return cell_str(r, &text);
}

static CELL_GET(before_cell)
{
	const struct sums *s = row->sums;

	return cell_ratio(s->on_before, s->on_before + s->off_before);
}

static CELL_GET(after_cell)
{
	const struct sums *s = row->sums;

	return cell_ratio(s->on_after, s->on_after + s->off_after);
}

/* Only where a hook told of migrations. */
static CELL_GET(moved_cell)
{
	return stream_knows(r->stream, "policy", POLICY_MOVED_DATA) ? cell_of_u64(r, row, offset)
								    : (struct cell){};
}

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_BY(BY_CALL, "call", "CALL", CELL_TEXT, UNIT_NONE, 0, "system call", call_cell),
	CELL_BY(BY_MODE, "mode", "MODE", CELL_TEXT, UNIT_NONE, 0,
		"policy that mbind and set_mempolicy ask for", mode_cell),
	CELL_BY(BY_ERROR, "error", "ERROR", CELL_TEXT, UNIT_NONE, 0, "errno of calls that failed",
		error_cell),
	CELL_COUNT(struct sums, calls, "CALLS", "calls (exact)"),
	CELL_NUMBER(
		struct sums, failed, "failed", "FAILED", UNIT_COUNT, 0, "of them, with an error"),
	DURATIONS_CELLS(struct sums, took, "time in them"),
	CELL_FROM(0, struct sums, pages, "pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WIDE,
		"of the ranges of mbind and set_mempolicy_home_node, and of the arrays of "
		"move_pages",
		cell_of_known),
	CELL_BY(0, "placed_before_ratio", "BEFORE", CELL_F64, UNIT_RATIO, 0,
		"of the pages there, on a node that the call asked for, when it began (sampled "
		"where ranges have more than 512 pages)",
		before_cell),
	CELL_BY(0, "placed_after_ratio", "AFTER", CELL_F64, UNIT_RATIO, 0,
		"the same, when it ended; of move_pages: as its status array says", after_cell),
	CELL_FROM(0, struct sums, moved, "moved_pages", "MOVED", CELL_U64, UNIT_PAGES, COL_MAIN,
		"pages that the kernel migrated in them (exact)", moved_cell),
	CELL_FROM(0, struct sums, unmoved, "unmoved_pages", "NOT MOVED", CELL_U64, UNIT_PAGES,
		COL_MAIN, "pages that it tried to migrate in vain (exact)", moved_cell),
	BY_STACK_CELLS("where it was called"),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums);

struct policy_state {
	bool show;
	bool each;
	u64 min_ns;
	struct by_sums sums;
	struct policy_problems problems;
	struct policy_show shown;
	VEC(struct policy_call) calls; /* --each */
};

static int policy_view_operands_read(
	struct policy_state *v, const struct view_options *o, struct err *err)
{
	if (!o->n_operands)
		return 0;
	if (o->n_operands > 1 || strcmp(o->operands[0], "show") != 0) {
		err_set(err, -EINVAL, "policy: '%.40s' is not expected here", o->operands[0]);
		return err_hint(err, "memwhy policy [show]; a command to run goes after --");
	}
	if (o->each)
		return err_set(err, -EINVAL, "policy show has no single events (--each)");
	v->show = true;
	return 0;
}

static int policy_init(void *state, const struct view_options *o, struct err *err)
{
	struct policy_state *v = state;
	int rc = policy_view_operands_read(v, o, err);

	if (rc)
		return rc;
	v->each = o->each;
	v->min_ns = o->min_ns;
	policy_problems_init(&v->problems);
	policy_show_init(&v->shown);
	return by_sums_init(&v->sums, &spec, &policy_view, o, err);
}

static int policy_view_agg_feed(struct policy_state *v, const struct policy_agg *r)
{
	u32 by = v->sums.by;
	struct sums *s;
	struct key k;

	memset(&k, 0, sizeof(k));
	k.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm);
	k.call = by & BY_CALL ? r->call : 0;
	k.mode = by & BY_MODE && (r->call == CALL_MBIND || r->call == CALL_SET_MEMPOLICY)
			 ? r->mode + 1
			 : 0;
	k.error = by & BY_ERROR ? (u32)r->error : 0;
	s = groups_get(&v->sums.groups, &k);
	if (!s)
		return -ENOMEM;
	s->calls += r->count;
	s->failed += r->error ? r->count : 0;
	durations_add(&s->took, r->timed, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	s->pages += r->pages;
	s->moved += r->moved;
	s->unmoved += r->unmoved;
	s->on_before += r->on_before;
	s->off_before += r->off_before;
	s->on_after += r->on_after;
	s->off_after += r->off_after;
	return 0;
}

/* As the programs would have counted it. */
static int call_count(struct policy_state *v, const struct policy_call *e)
{
	struct policy_agg r = {
		.tgid = e->tgid,
		.tid = e->tid,
		.stack = e->ustack,
		.call = e->call,
		.mode = policy_mode(e),
		.flags = policy_call_flags(e),
		.error = e->ret < 0 ? (s32)-e->ret : 0,
		.count = 1,
		.timed = e->start_ns != 0,
		.total_ns = e->ns,
		.max_ns = e->ns,
		.pages = policy_range_pages(e),
		.moved = e->moved,
		.unmoved = e->unmoved,
		.cgroup = e->cgroup,
	};
	struct policy_placed p = policy_placed(e);

	memcpy(r.comm, e->comm, sizeof(r.comm));
	r.hist[log2_slot(e->ns, AGG_SLOTS - 1)] = r.timed != 0;
	r.on_before = p.on_before;
	r.off_before = p.off_before;
	r.on_after = p.on_after;
	r.off_after = p.off_after;
	return policy_view_agg_feed(v, &r);
}

static int policy_view_call_feed(struct policy_state *v, const struct policy_call *e)
{
	int rc;

	if (v->each)
		return e->ns >= v->min_ns ? vec_push(&v->calls, *e) : 0;
	rc = policy_problems_call(&v->problems, e);
	return rc ? rc : call_count(v, e);
}

static int policy_feed(void *state, const struct rec *r)
{
	struct policy_state *v = state;
	int rc;

	if (v->show)
		return policy_show_feed(&v->shown, r);
	if (r->kind == REC_POLICY_CALL)
		return policy_view_call_feed(v, (const struct policy_call *)r);
	if (r->kind != REC_POLICY_AGG)
		return 0;
	rc = policy_problems_agg(&v->problems, (const struct policy_agg *)r);
	return rc ? rc : policy_view_agg_feed(v, (const struct policy_agg *)r);
}

static int calls_report(struct policy_state *v, struct report *r)
{
	struct table *t = by_sums_show(&v->sums, r, "calls", "Calls on memory policy");

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = "No call on memory policy in this interval.";
	return 0;
}

static int policy_report(void *state, struct report *r)
{
	struct policy_state *v = state;
	int rc;

	if (v->show)
		return policy_show_report(&v->shown, r);
	rc = calls_report(v, r);
	return rc ? rc : policy_problems_report(&v->problems, r);
}

static struct table *policy_each(void *state, struct report *r)
{
	struct policy_state *v = state;
	struct table *t = policy_each_report(r, v->calls.v, v->calls.n);

	v->calls.n = 0;
	return t;
}

static void policy_reset(void *state)
{
	struct policy_state *v = state;

	groups_clear(&v->sums.groups);
	policy_problems_reset(&v->problems);
	policy_show_reset(&v->shown);
}

static void policy_destroy(void *state)
{
	struct policy_state *v = state;

	by_sums_free(&v->sums);
	policy_problems_free(&v->problems);
	policy_show_free(&v->shown);
	vec_free(&v->calls);
}

/* What is in force is told at once. */
static u64 policy_for_ns(const struct view_options *o)
{
	return o->n_operands && !strcmp(o->operands[0], "show") ? 1 : 0;
}

static const struct view_table tables[] = {
	CELLS_VIEW("calls", columns),
	{},
};

const struct view policy_view = {
	.tables = (const struct view_table *const[]){tables, policy_problem_tables,
		policy_each_tables, policy_show_tables, NULL},
	.size = sizeof(struct policy_state),
	.by_default = "process,call,mode",
	.by_keys = by_keys,
	.for_ns = policy_for_ns,
	.init = policy_init,
	.feed = policy_feed,
	.report = policy_report,
	.each = policy_each,
	.times_each = true,
	.reset = policy_reset,
	.destroy = policy_destroy,
};
