/* See heap_tables.h. */
#include "probes/heap/view/heap_tables.h"

#include "analysis/cells.h"
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

/* A span: its end, and what came in it. */
struct growth_row {
	struct growth_mark end;
	s64 change;
	u64 allocations, bytes;
	const struct heap_total *of;
};

CELL_EXPR(pid_cell, struct growth_row, cell_u64(e->of->tgid))
CELL_EXPR(comm_cell, struct growth_row, cell_text(report_textn(r, e->of->comm, COMM_LEN)))

static const struct cell_column columns[] = {
	CELL_FROM(0, struct growth_row, end.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"end of the span, since memwhy began; in a long run spans are merged in pairs",
		cell_of_time),
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id", pid_cell),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process", comm_cell),
	CELL_NUMBER(struct growth_row, end.live_bytes, "live_bytes", "LIVE", UNIT_BYTES, COL_LEVEL,
		"allocated and not freed then"),
	CELL_NUMBER(struct growth_row, change, "change_bytes", "CHANGE", UNIT_BYTES, 0,
		"change of that in the span"),
	CELL_NUMBER(struct growth_row, allocations, "allocations", "ALLOCS", UNIT_COUNT, 0,
		"blocks allocated in the span"),
	CELL_NUMBER(struct growth_row, bytes, "allocated_bytes", "ALLOCATED", UNIT_BYTES, 0,
		"asked for these"),
};

const struct view_table heap_growth_tables[] = {
	CELLS_VIEW("growth", columns),
	{},
};

struct table *heap_growth_table(struct report *r)
{
	return cells_table(r, "growth", "Live bytes over time", columns, ARRAY_SIZE(columns));
}

int heap_growth_rows(
	struct table *t, struct report *r, const struct heap_growth *g, const struct heap_total *of)
{
	u32 n = g->n + (g->in_span != 0);
	const struct growth_mark *before = &g->begin;
	int rc = 0;

	for (u32 i = 0; n >= SHOWN_MIN && i < n && !rc; i++) {
		const struct growth_mark *m = &g->v[i];
		const struct growth_row row = {*m, (s64)(m->live_bytes - before->live_bytes),
			m->allocations - before->allocations, m->bytes - before->bytes, of};

		rc = cells_one(t, r, columns, &row, NULL);
		before = m;
	}
	return rc;
}
