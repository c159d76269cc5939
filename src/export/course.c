/* See course.h. */
#include "export/course.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cells.h"
#include "base/clock.h"
#include "base/groups.h"
#include "base/vec.h"
#include "probes/faults/faults.h"
#include "probes/frag/frag.h"
#include "probes/heap/heap.h"
#include "probes/processes/processes.h"
#include "probes/stalls/stalls.h"
#include "probes/system/system.h"

#define STEPS 240                          /* of a series, at most */
#define FIRST_STEP_NS (20 * NSEC_PER_MSEC) /* doubled until all fits */
#define SERIES_OF_PROCESSES 4              /* of each kind: the largest */
#define SERIES_MAX 4096

enum series_kind {
	LIVE_HEAP,
	RSS,
	FAULT_SUMS,
	FAULT_EVENTS,
	STALL_SUMS,
	STALL_EVENTS,
	PRESSURE_SOME,
	PRESSURE_FULL,
	FREE_BLOCKS,
	KINDS
};

/* What a point is. */
enum series_is {
	IS_LEVEL, /* an amount at a time */
	IS_SUM,   /* of all since the point before; read at the same times as all other sums */
	IS_EVENT, /* of what happened in this step */
};

/* Counts are read from the kernel about once a second, which takes some time, and then what that
 * cost is told: what comes between two such records was counted between them. A shorter time than
 * this is too short for a rate: it goes with what comes next. */
#define READ_GAP_NS (NSEC_PER_SEC / 2)

static const struct {
	const char *name, *unit;
	enum series_is is;
	bool of_processes;
	bool adds_up; /* all processes were told of from their beginning: they have a sum */
} kinds[KINDS] = {
	[LIVE_HEAP] = {"live heap", "bytes", IS_LEVEL, true, true},
	[RSS] = {"resident memory", "bytes", IS_LEVEL, true, false},
	[FAULT_SUMS] = {"page faults", "count/s", IS_SUM, false, false},
	[FAULT_EVENTS] = {"page faults", "count/s", IS_EVENT, false, false},
	[STALL_SUMS] = {"time in stalls", "ns/s", IS_SUM, false, false},
	[STALL_EVENTS] = {"time in stalls", "ns/s", IS_EVENT, false, false},
	[PRESSURE_SOME] = {"memory pressure", "ratio", IS_LEVEL, false, false},
	[PRESSURE_FULL] = {"memory pressure, all tasks", "ratio", IS_LEVEL, false, false},
	[FREE_BLOCKS] = {"free blocks", "count", IS_LEVEL, false, false},
};

struct series_key {
	u32 kind;
	u32 of;    /* process, or node */
	u32 order; /* of free blocks */
	char zone[FRAG_ZONE_NAME];
};

struct point {
	u32 step;
	double value;
};

struct series {
	VEC(struct point) points;
	double most;
	char comm[COMM_LEN];
	u32 pid;
};

struct course {
	struct groups series; /* struct series_key: struct series * */
	u64 begin_ns, step_ns;
	u64 read_ns;        /* until when sums are in their series */
	u64 pending_ns;     /* a later time, until which the sums below are; 0: none */
	double sums[KINDS]; /* since read_ns */
};

static int course_init(void *state, const struct view_options *o, struct err *err)
{
	struct course *c = state;

	(void)o;
	(void)err;
	groups_init(&c->series, sizeof(struct series_key), sizeof(struct series *));
	c->step_ns = FIRST_STEP_NS;
	return 0;
}

static struct series *series_at(const struct course *c, size_t i)
{
	return *(struct series **)groups_value(&c->series, i);
}

/* NULL: no memory; *ret_full: there are too many already. */
static struct series *series_get(struct course *c, const struct series_key *k, bool *ret_full)
{
	struct series **at = groups_find(&c->series, k);

	*ret_full = !at && c->series.n >= SERIES_MAX;
	if (*ret_full)
		return NULL;
	at = at ? at : groups_get(&c->series, k);
	if (at && !*at)
		*at = calloc(1, sizeof(**at));
	return at ? *at : NULL;
}

/* Two steps become one. */
static void series_halve(struct series *s, bool sums)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->points.n; i++) {
		struct point p = {s->points.v[i].step / 2, s->points.v[i].value};
		struct point *last = kept ? &s->points.v[kept - 1] : NULL;

		if (last && last->step == p.step)
			last->value = sums ? last->value + p.value : p.value;
		else
			s->points.v[kept++] = p;
	}
	s->points.n = kept;
}

/* Records of several sources come nearly, not quite, in the order of time: a level that comes late
 * is the last one all the same. Events are told of when they have ended, and add to their own step.
 */
static int point_put(struct series *s, u32 step, double value, enum series_is is)
{
	size_t at = s->points.n;
	int rc;

	s->most = MAX(s->most, value);
	while (at && s->points.v[at - 1].step > step && is == IS_EVENT)
		at--;
	if (at && step <= s->points.v[at - 1].step) {
		struct point *p = &s->points.v[at - 1];

		p->value = is == IS_LEVEL ? value : p->value + value;
		return 0;
	}
	rc = vec_push(&s->points, ((struct point){}));
	if (rc)
		return rc;
	memmove(&s->points.v[at + 1], &s->points.v[at],
		(s->points.n - 1 - at) * sizeof(s->points.v[0]));
	s->points.v[at] = (struct point){step, value};
	return 0;
}

static int course_put(struct course *c, const struct series_key *k, u64 time_ns, double value,
	const char *comm, u32 pid)
{
	u64 since = time_ns > c->begin_ns ? time_ns - c->begin_ns : 0;
	bool full;
	struct series *s;

	if (!c->begin_ns)
		return 0;
	while (since / c->step_ns >= STEPS) {
		c->step_ns *= 2;
		for (size_t i = 0; i < c->series.n; i++)
			if (series_at(c, i))
				series_halve(series_at(c, i),
					kinds[((const struct series_key *)groups_key(&c->series, i))
							->kind]
							.is != IS_LEVEL);
	}
	s = series_get(c, k, &full);
	if (!s)
		return full ? 0 : -ENOMEM;
	if (comm)
		memcpy(s->comm, comm, COMM_LEN);
	s->pid = pid;
	return point_put(s, (u32)(since / c->step_ns), value, kinds[k->kind].is);
}

/* Time that an event took is of the steps in which it went by. */
static int spread(struct course *c, const struct series_key *k, u64 from_ns, u64 ns)
{
	u64 to_ns = from_ns + ns, at = MAX(from_ns, c->begin_ns);
	int rc = course_put(
		c, k, to_ns, 0, NULL, 0); /* from here on steps are as long as they will be */

	while (at < to_ns && !rc) {
		u64 end = c->begin_ns + ((at - c->begin_ns) / c->step_ns + 1) * c->step_ns;

		end = end > at ? MIN(end, to_ns) : to_ns; /* a time of a file may be any */
		rc = course_put(c, k, at, (double)(end - at), NULL, 0);
		at = end;
	}
	return rc;
}

static int course_heap_take(struct course *c, const struct rec *r)
{
	const struct heap_total *t = (const struct heap_total *)r;

	return course_put(c, &(struct series_key){.kind = LIVE_HEAP, .of = t->process}, r->time_ns,
		t->end_ns ? 0 : (double)t->live_bytes, t->comm, t->tgid);
}

static int course_memory_take(struct course *c, const struct rec *r)
{
	const struct process_memory *m = (const struct process_memory *)r;

	return course_put(c, &(struct series_key){.kind = RSS, .of = m->tgid}, r->time_ns,
		(double)m->rss_bytes, m->comm, m->tgid);
}

/* All that was counted by then has come. */
static int sums_end(struct course *c, u64 time_ns)
{
	int rc = 0;

	c->pending_ns = 0;
	if (!c->begin_ns || time_ns <= c->read_ns)
		return 0;
	for (u32 kind = 0; kind < KINDS && !rc; kind++) {
		if (kinds[kind].is == IS_SUM)
			rc = course_put(c, &(struct series_key){.kind = kind}, time_ns,
				c->sums[kind], NULL, 0);
		c->sums[kind] = 0;
	}
	c->read_ns = time_ns;
	return rc;
}

static int pending_end(struct course *c)
{
	return c->pending_ns >= c->read_ns + READ_GAP_NS ? sums_end(c, c->pending_ns) : 0;
}

/* It may be that of a mark, which follows it and knows better when counting ended. */
static int course_cost_take(struct course *c, const struct rec *r)
{
	int rc = pending_end(c);

	c->pending_ns = r->time_ns;
	return rc;
}

static int tick_take(struct course *c, const struct rec *r)
{
	c->pending_ns = r->time_ns;
	return pending_end(c);
}

static int end_take(struct course *c, const struct rec *r)
{
	return sums_end(c, r->time_ns);
}

static int sum_take(struct course *c, enum series_kind kind, u64 n)
{
	int rc = pending_end(c);

	c->sums[kind] += (double)n;
	return rc;
}

static int faults_take(struct course *c, const struct rec *r)
{
	return sum_take(c, FAULT_SUMS, ((const struct faults_agg *)r)->count);
}

static int fault_take(struct course *c, const struct rec *r)
{
	return course_put(c, &(struct series_key){.kind = FAULT_EVENTS}, r->time_ns, 1, NULL, 0);
}

static int stalls_take(struct course *c, const struct rec *r)
{
	return sum_take(c, STALL_SUMS, ((const struct stalls_agg *)r)->total_ns);
}

static int stall_take(struct course *c, const struct rec *r)
{
	const struct stalls_event *e = (const struct stalls_event *)r;

	return spread(c, &(struct series_key){.kind = STALL_EVENTS}, e->start_ns, e->ns);
}

static int pressure_take(struct course *c, const struct rec *r)
{
	const struct system_pressure *p = (const struct system_pressure *)r;
	int rc;

	if (p->resource != SYSTEM_MEMORY)
		return 0;
	rc = course_put(c, &(struct series_key){.kind = PRESSURE_SOME}, r->time_ns,
		p->some_avg10 / 1e4, NULL, 0);
	if (rc || !p->has_full)
		return rc;
	return course_put(c, &(struct series_key){.kind = PRESSURE_FULL}, r->time_ns,
		p->full_avg10 / 1e4, NULL, 0);
}

static int course_zone_take(struct course *c, const struct rec *r)
{
	const struct frag_zone *z = (const struct frag_zone *)r;
	int rc = 0;

	for (u32 i = 0; i < MIN(z->orders, (u32)FRAG_ORDERS) && !rc; i++) {
		struct series_key k = {.kind = FREE_BLOCKS, .of = z->node, .order = i};

		memcpy(k.zone, z->zone, MIN(sizeof(k.zone), sizeof(z->zone)));
		rc = course_put(c, &k, r->time_ns, (double)z->free_blocks[i], NULL, 0);
	}
	return rc;
}

static int session_take(struct course *c, const struct rec *r)
{
	c->begin_ns = c->read_ns = r->time_ns;
	return 0;
}

static const struct {
	u16 kind;
	size_t size;
	int (*take)(struct course *c, const struct rec *r);
} takes[] = {
	{REC_SESSION, sizeof(struct rec_session), session_take},
	{REC_COST, sizeof(struct rec_cost), course_cost_take},
	{REC_TICK, sizeof(struct rec_tick), tick_take},
	{REC_END, sizeof(struct rec_tick), end_take},
	{REC_HEAP_TOTAL, sizeof(struct heap_total), course_heap_take},
	{REC_PROCESS_MEMORY, sizeof(struct process_memory), course_memory_take},
	{REC_FAULTS_AGG, sizeof(struct faults_agg), faults_take},
	{REC_FAULT, sizeof(struct fault_event), fault_take},
	{REC_STALLS_AGG, sizeof(struct stalls_agg), stalls_take},
	{REC_STALLS_EVENT, sizeof(struct stalls_event), stall_take},
	{REC_SYSTEM_PRESSURE, sizeof(struct system_pressure), pressure_take},
	{REC_FRAG_ZONE, sizeof(struct frag_zone), course_zone_take},
};

static int course_feed(void *state, const struct rec *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(takes); i++)
		if (takes[i].kind == r->kind && r->size >= takes[i].size)
			return takes[i].take(state, r);
	return 0;
}

struct course_row {
	u64 time_ns;
	const char *of; /* NULL: nothing in particular */
	double value;
	const struct series_key *k;
};

CELL_EXPR(series_cell, struct course_row, cell_text(kinds[e->k->kind].name))
CELL_EXPR(order_cell, struct course_row,
	e->k->kind == FREE_BLOCKS ? cell_u64(e->k->order) : (struct cell){})
CELL_EXPR(value_cell, struct course_row, cell_f64(e->value))
CELL_EXPR(unit_cell, struct course_row, cell_text(kinds[e->k->kind].unit))

static const struct cell_column columns[] = {
	CELL_NUMBER(struct course_row, time_ns, "time_ns", "TIME", UNIT_NS, 0,
		"start of the step, since the recording began"),
	CELL_BY(0, "series", "SERIES", CELL_TEXT, UNIT_NONE, 0, "what is counted", series_cell),
	CELL_FROM(0, struct course_row, of, "of", "OF", CELL_TEXT, UNIT_NONE, 0,
		"process, or node and zone; \"all\": all processes together", cell_of_text),
	CELL_BY(0, "order", "ORDER", CELL_U64, UNIT_ID, COL_RARE, "of free blocks", order_cell),
	CELL_BY(0, "value", "VALUE", CELL_F64, UNIT_NONE, 0,
		"as it stood at the end of the step, or per second of it", value_cell),
	CELL_BY(0, "unit", "UNIT", CELL_TEXT, UNIT_NONE, COL_ASIDE, "of the value", unit_cell),
};

/* A report, and its table, that rows are put into. */
struct course_table {
	struct table *t;
	struct report *r;
};

static int row_put(const struct course_table *out, const struct series_key *k, const char *of,
	u64 time_ns, double value)
{
	const struct course_row row = {time_ns, of, value, k};

	return cells_one(out->t, out->r, columns, &row, NULL);
}

/* A sum is spread over the time since the one before it, and the last one, where that is too short
 * for a rate, over that of the one before too. A kind that was never counted has none. */
static int sums_put(const struct course_table *t, const struct course *c,
	const struct series_key *k, const struct series *s)
{
	u32 least = (u32)(READ_GAP_NS / c->step_ns);
	double value = 0;
	u32 begin = 0;
	int rc = 0;

	for (size_t i = 0; i < s->points.n && s->most > 0 && !rc; i++) {
		const struct point *p = &s->points.v[i], *next = p + 1;
		bool joined = i + 2 == s->points.n && next->step - p->step < least;
		u32 end = (joined ? next : p)->step + 1;
		double sum = p->value + (joined ? next->value : 0);

		value = sum / ((double)((end - begin) * c->step_ns) / NSEC_PER_SEC);
		rc = row_put(t, k, NULL, begin * c->step_ns, value);
		begin = end;
		i += joined;
	}
	return rc || !begin ? rc : row_put(t, k, NULL, begin * c->step_ns, value);
}

/* Where there is no event there was none. */
static int events_put(const struct course_table *t, const struct course *c,
	const struct series_key *k, const struct series *s)
{
	double per_second = (double)NSEC_PER_SEC / (double)c->step_ns;
	u32 step = 0;
	int rc = 0;

	vec_each (p, &s->points) {
		for (; step < p->step && !rc; step++)
			rc = row_put(t, k, NULL, step * c->step_ns, 0);
		rc = rc ? rc : row_put(t, k, NULL, step++ * c->step_ns, p->value * per_second);
	}
	return rc;
}

static int levels_put(const struct course_table *t, const struct course *c,
	const struct series_key *k, const char *of, const struct series *s)
{
	int rc = 0;

	vec_each (p, &s->points)
		rc = rc ? rc : row_put(t, k, of, p->step * c->step_ns, p->value);
	return rc;
}

static const char *of_words(struct report *r, const struct series_key *k, const struct series *s)
{
	if (k->kind == FREE_BLOCKS)
		return report_text(r, "node %u, zone %.*s", k->of, (int)sizeof(k->zone), k->zone);
	return kinds[k->kind].of_processes
		       ? report_text(r, "%.*s (%u)", COMM_LEN, s->comm[0] ? s->comm : "?", s->pid)
		       : NULL;
}

/* What all processes have together, where each stands as it was told of last. */
static int all_put(const struct course_table *t, const struct course *c, u32 kind)
{
	double sums[STEPS] = {};
	u32 end = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->series.n; i++) {
		const struct series *s = series_at(c, i);

		if (((const struct series_key *)groups_key(&c->series, i))->kind != kind || !s)
			continue;
		n++;
		for (size_t j = 0; j < s->points.n; j++) {
			u32 to = j + 1 < s->points.n ? s->points.v[j + 1].step : STEPS;

			end = MAX(end, s->points.v[j].step + 1);
			for (u32 at = s->points.v[j].step; at < MIN(to, (u32)STEPS); at++)
				sums[at] += s->points.v[j].value;
		}
	}
	for (u32 at = 0; at < end && n; at++) {
		const struct series_key k = {.kind = kind};
		int rc = row_put(t, &k, "all", at * c->step_ns, sums[at]);

		if (rc)
			return rc;
	}
	return 0;
}

/* Is it among the largest of its kind? */
static bool is_shown(const struct course *c, size_t which, u32 kind)
{
	size_t larger = 0, n = 0;

	if (!kinds[kind].of_processes)
		return true;
	for (size_t i = 0; i < c->series.n; i++) {
		if (((const struct series_key *)groups_key(&c->series, i))->kind != kind)
			continue;
		n++;
		larger += series_at(c, i)->most > series_at(c, which)->most ||
			  (series_at(c, i)->most == series_at(c, which)->most && i < which);
	}
	return (n > 1 || !kinds[kind].adds_up) && larger < SERIES_OF_PROCESSES;
}

static int series_put(const struct course_table *t, const struct course *c, size_t which, u32 kind)
{
	const struct series_key *k = groups_key(&c->series, which);
	const struct series *s = series_at(c, which);

	if (k->kind != kind || !s->points.n || !is_shown(c, which, kind))
		return 0;
	if (kinds[kind].is == IS_SUM)
		return sums_put(t, c, k, s);
	if (kinds[kind].is == IS_EVENT)
		return events_put(t, c, k, s);
	return s->points.n < 2 ? 0 : levels_put(t, c, k, of_words(t->r, k, s), s);
}

static bool has_kind(const struct course *c, u32 kind)
{
	for (size_t i = 0; i < c->series.n; i++)
		if (((const struct series_key *)groups_key(&c->series, i))->kind == kind)
			return true;
	return false;
}

static int kind_put(const struct course_table *t, const struct course *c, u32 kind)
{
	int rc = kinds[kind].adds_up ? all_put(t, c, kind) : 0;

	/* Events tell more than the sums of them. */
	if ((kind == STALL_SUMS && has_kind(c, STALL_EVENTS)) ||
		(kind == FAULT_SUMS && has_kind(c, FAULT_EVENTS)))
		return 0;
	for (size_t i = 0; i < c->series.n && !rc; i++)
		rc = series_put(t, c, i, kind);
	return rc;
}

static int course_report(void *state, struct report *r)
{
	const struct course *c = state;
	struct table *t = cells_table(r, "course", "Over time", columns, ARRAY_SIZE(columns));
	const struct course_table out = {t, r};
	int rc = t ? 0 : -ENOMEM;

	for (u32 kind = 0; kind < KINDS && !rc; kind++)
		rc = kind_put(&out, c, kind);
	if (t)
		t->story = true;
	return rc;
}

static void course_destroy(void *state)
{
	struct course *c = state;

	for (size_t i = 0; i < c->series.n; i++) {
		struct series *s = series_at(c, i);

		if (s)
			vec_free(&s->points);
		free(s);
	}
	groups_free(&c->series);
}

const struct view course_view = {
	.size = sizeof(struct course),
	.init = course_init,
	.feed = course_feed,
	.report = course_report,
	.destroy = course_destroy,
};
