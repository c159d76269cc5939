/* See heap_course.h. */
#include "probes/heap/view/heap_course.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "analysis/cells.h"
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

static int heap_course_init(void *state, const struct view_options *o, struct err *err)
{
	struct course *c = state;
	int rc = event_replay_open(0, UINT64_MAX, o->most_bytes, put_nothing, NULL, &c->replay);

	if (rc)
		return err_errno(err, rc, "the course of the heap");
	event_replay_in_steps(c->replay);
	return 0;
}

static int heap_course_feed(void *state, const struct rec *r)
{
	struct course *c = state;

	if (r->kind == REC_SESSION)
		c->begin_ns = r->time_ns;
	return event_replay_feed(c->replay, r);
}

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

/* Keys of columns. */
enum { OF_WHOLE = 1, OF_STACK = 2 };

struct course_row {
	const struct heap_total *of;
	const char *points;
	u64 end_ns, step_ns, most;
	u32 stack;
};

CELL_EXPR(process_cell, struct course_row, cell_u64(e->of->process))
CELL_EXPR(pid_cell, struct course_row, cell_u64(e->of->tgid))
CELL_EXPR(comm_cell, struct course_row, cell_text(report_textn(r, e->of->comm, COMM_LEN)))

static const struct cell_column columns[] = {
	CELL_BY(0, "process", "PROCESS", CELL_U64, UNIT_ID, 0, "number of the process",
		process_cell),
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id", pid_cell),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process", comm_cell),
	CELL_FROM(0, struct course_row, end_ns, "end_ns", "END", CELL_U64, UNIT_NS, COL_RARE,
		"when the process ended, since memwhy began", cell_of_known),
	CELL_NUMBER(struct course_row, step_ns, "step_ns", "STEP", UNIT_NS, 0, "length of a step"),
	CELL_FROM(0, struct course_row, points, "points", "POINTS", CELL_TEXT, UNIT_NONE, 0,
		"where it changed: steps since the point before; blocks and bytes live at the end "
		"of the step; the same when the process had most in it; allocations and bytes "
		"since the point before",
		cell_of_text),
	CELL_KEY(OF_STACK, struct course_row, most, "most_bytes", "MOST", UNIT_BYTES, 0,
		"most bytes live at any time: the largest stacks are those that are kept"),
	CELL_FROM(OF_STACK, struct course_row, stack, "stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"who allocated", cell_of_stack),
};

static int points_put(
	void *arg, const struct heap_total *of, const u32 *stack, const event_points *points)
{
	struct course *c = arg;
	const struct course_row row = {of, points->n ? points_text(c->r, points) : NULL,
		of->end_ns > c->begin_ns ? of->end_ns - c->begin_ns : 0, c->step_ms * NSEC_PER_MSEC,
		stack ? most_of(points) : 0, stack ? *stack : 0};

	if (!points->n)
		return 0;
	return row.points ? cells_row(stack ? c->stacks : c->wholes, c->r, columns,
				    ARRAY_SIZE(columns),
				    &(struct row_of){stack ? OF_STACK : OF_WHOLE, &row, &row, NULL})
			  : -ENOMEM;
}

static int heap_course_report(void *state, struct report *r)
{
	struct course *c = state;
	if (!event_replay_has(c->replay))
		return 0;
	c->r = r;
	c->wholes = cells_table_by(
		r, "held", "Live heap over time", columns, ARRAY_SIZE(columns), OF_WHOLE);
	c->stacks = cells_table_by(
		r, "held_stacks", "… of each stack", columns, ARRAY_SIZE(columns), OF_STACK);
	if (!c->wholes || !c->stacks)
		return -ENOMEM;
	c->wholes->story = true;
	c->stacks->sort = "most_bytes";
	return event_replay_steps(c->replay, &c->step_ms, points_put, c);
}

static void heap_course_destroy(void *state)
{
	event_replay_close(((struct course *)state)->replay);
}

const struct view heap_course_view = {
	.size = sizeof(struct course),
	.init = heap_course_init,
	.feed = heap_course_feed,
	.report = heap_course_report,
	.destroy = heap_course_destroy,
};
