/* See heap_growth.h. */
#include "probes/heap/view/heap_growth.h"

#include <errno.h>

#include "base/util.h"

#define SHOWN_MIN 3 /* spans that make a course */

static struct growth_mark mark_of(const struct heap_total *t)
{
	return (struct growth_mark){
		.time_ns = t->end_ns ? t->end_ns : t->h.time_ns,
		.live_bytes = t->live_bytes,
		.allocations = t->allocations,
		.bytes = t->bytes,
	};
}

static void spans_join(struct heap_growth *g)
{
	for (u32 i = 0; i < GROWTH_SPANS; i++)
		g->v[i] = g->v[2 * i + 1];
	g->n = GROWTH_SPANS;
	g->per_span *= 2;
}

void heap_growth_add(struct heap_growth *g, const struct heap_total *t)
{
	if (!g->per_span)
		g->per_span = 1;
	g->v[g->n] = mark_of(t);
	if (++g->in_span < g->per_span)
		return;
	g->in_span = 0;
	if (++g->n == 2 * GROWTH_SPANS)
		spans_join(g);
}

void heap_growth_reset(struct heap_growth *g)
{
	if (g->in_span)
		g->begin = g->v[g->n];
	else if (g->n)
		g->begin = g->v[g->n - 1];
	g->n = g->in_span = g->per_span = 0;
}

enum { G_TIME, G_PID, G_COMM, G_LIVE, G_CHANGE, G_ALLOCATIONS, G_BYTES, G_N };

_Static_assert(G_N == HEAP_GROWTH_COLUMNS, "columns of growth");

const struct column heap_growth_columns[HEAP_GROWTH_COLUMNS] = {
	[G_TIME] = {"time_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"end of the span, since memwhy began; in a long run spans are merged in pairs"},
	[G_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	[G_COMM] = {"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process"},
	[G_LIVE] = {"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"allocated and not freed then"},
	[G_CHANGE] = {"change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, 0,
		"change of that in the span"},
	[G_ALLOCATIONS] = {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, 0,
		"blocks allocated in the span"},
	[G_BYTES] = {"allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES, 0, "asked for these"},
};

int heap_growth_rows(
	struct table *t, struct report *r, const struct heap_growth *g, const struct heap_total *of)
{
	u32 n = g->n + (g->in_span != 0);
	const struct growth_mark *before = &g->begin;

	for (u32 i = 0; n >= SHOWN_MIN && i < n; i++) {
		const struct growth_mark *m = &g->v[i];
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[G_TIME] = cell_since(r, m->time_ns);
		row[G_PID] = cell_u64(of->tgid);
		row[G_COMM] = cell_text(report_text(r, "%.16s", of->comm));
		row[G_LIVE] = cell_u64(m->live_bytes);
		row[G_CHANGE] = cell_s64((s64)(m->live_bytes - before->live_bytes));
		row[G_ALLOCATIONS] = cell_u64(m->allocations - before->allocations);
		row[G_BYTES] = cell_u64(m->bytes - before->bytes);
		before = m;
	}
	return 0;
}
