/* See heap_course.h. */
#include "probes/heap/view/heap_course.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "probes/heap/events/event_replay.h"

struct course {
	struct event_replay *replay;
	u64 begin_ns;
	struct report *r; /* while one is made */
	struct table *wholes, *stacks;
	u64 step_ms;
};

static int put_nothing(void *arg, const struct rec *r)
{
	(void)arg;
	(void)r;
	return 0;
}

static int init(void *state, const struct view_options *o, struct err *err)
{
	struct course *c = state;
	int rc = event_replay_open(0, UINT64_MAX, o->most_bytes, put_nothing, NULL, &c->replay);

	if (rc)
		return err_errno(err, rc, "the course of the heap");
	event_replay_in_steps(c->replay);
	return 0;
}

static int feed(void *state, const struct rec *r)
{
	struct course *c = state;

	if (r->kind == REC_SESSION)
		c->begin_ns = r->time_ns;
	return event_replay_feed(c->replay, r);
}

enum { H_PROCESS, H_PID, H_COMM, H_END, H_STEP, H_POINTS, H_WHOLE, H_MOST = H_WHOLE, H_STACK, H_N };

static const struct column columns[H_N] = {
	[H_PROCESS] = {"process", "PROCESS", CELL_U64, UNIT_ID, 0, "number of the process"},
	[H_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	[H_COMM] = {"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process"},
	[H_END] = {"end_ns", "END", CELL_U64, UNIT_NS, COL_RARE,
		"when the process ended, since memwhy began"},
	[H_STEP] = {"step_ns", "STEP", CELL_U64, UNIT_NS, 0, "length of a step"},
	[H_POINTS] = {"points", "POINTS", CELL_TEXT, UNIT_NONE, 0,
		"where it changed: steps since the point before; blocks and bytes live at the end "
		"of the step; the same when the process had most in it; allocations and bytes "
		"since the point before"},
	[H_MOST] = {"most_bytes", "MOST", CELL_U64, UNIT_BYTES, 0,
		"most bytes live at any time: the largest stacks are those that are kept"},
	[H_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "who allocated"},
};

static const char *points_text(struct report *r, const event_points *points)
{
	_cleanup_str_ struct str text = {};
	struct event_point before = {};

	vec_each (p, points) {
		str_addf(&text, "%s%u %llu %llu %llu %llu %llu %llu", text.len ? ";" : "",
			p->step - before.step, p->live_blocks, p->live_bytes, p->peak_blocks,
			p->peak_bytes, p->allocations - before.allocations,
			p->bytes - before.bytes);
		before = *p;
	}
	return text.failed ? NULL : report_textn(r, str_get(&text), text.len);
}

static u64 most_of(const event_points *points)
{
	u64 most = 0;

	vec_each (p, points) {
		most = MAX(most, p->live_bytes);
		most = MAX(most, p->peak_bytes);
	}
	return most;
}

static int points_put(
	void *arg, const struct heap_total *of, const u32 *stack, const event_points *points)
{
	struct course *c = arg;
	const char *text = points->n ? points_text(c->r, points) : "";
	struct cell *row;

	if (!points->n)
		return 0;
	row = text ? table_row(stack ? c->stacks : c->wholes) : NULL;
	if (!row)
		return -ENOMEM;
	row[H_PROCESS] = cell_u64(of->process);
	row[H_PID] = cell_u64(of->tgid);
	row[H_COMM] = cell_text(report_textn(c->r, of->comm, strnlen(of->comm, sizeof(of->comm))));
	if (of->end_ns > c->begin_ns)
		row[H_END] = cell_u64(of->end_ns - c->begin_ns);
	row[H_STEP] = cell_u64(c->step_ms * NSEC_PER_MSEC);
	row[H_POINTS] = cell_text(text);
	if (!stack)
		return 0;
	row[H_MOST] = cell_u64(most_of(points));
	row[H_STACK] = cell_stack(*stack);
	return 0;
}

static int report(void *state, struct report *r)
{
	struct course *c = state;
	if (!event_replay_has(c->replay))
		return 0;
	c->r = r;
	c->wholes = report_table(r, "held", "Live heap over time", columns, H_WHOLE);
	c->stacks = report_table(r, "held_stacks", "… of each stack", columns, H_N);
	if (!c->wholes || !c->stacks)
		return -ENOMEM;
	c->wholes->story = true;
	c->stacks->sort = "most_bytes";
	return event_replay_steps(c->replay, &c->step_ms, points_put, c);
}

static void destroy(void *state)
{
	event_replay_close(((struct course *)state)->replay);
}

const struct view heap_course_view = {
	.size = sizeof(struct course),
	.init = init,
	.feed = feed,
	.report = report,
	.destroy = destroy,
};
