/* What the stacks of a heap hold, and what to make of it: see leak_heap.h. */
#include "probes/leak/leak_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	S_PID,
	S_COMM,
	S_BLOCKS,
	S_BYTES,
	S_NOW,
	S_ALLOCATIONS,
	S_FREES,
	S_OLD,
	S_STAYED,
	S_VERDICT,
	S_OUTLIVED,
	S_FIRST,
	S_MIDDLE,
	S_LAST,
	S_SLOPE,
	S_FIT,
	S_AGE_P50,
	S_AGE_MAX,
	S_AGES,
	S_LIFE_P50,
	S_LIFE_P99,
	S_LIFE_MAX,
	S_LIVES,
	S_STACK,
	S_N,
};

LEAK_TREND_IS(S_FIRST, S_FIT);

#define COLUMN_BLOCKS                                                                          \
	{                                                                                      \
		"live_blocks", "LIVE", CELL_U64, UNIT_COUNT, COL_LEVEL,                        \
			"blocks allocated and not freed by now, or by the end of the process " \
			"(exact)"                                                              \
	}
#define COLUMN_BYTES                                                                 \
	{                                                                            \
		"live_bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_WEIGHT | COL_LEVEL, \
			"asked for those"                                            \
	}
#define COLUMN_ALLOCATIONS                                        \
	{                                                         \
		"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, 0, \
			"blocks allocated in the interval"        \
	}
#define COLUMN_FREES                                                                              \
	{                                                                                         \
		"frees", "FREES", CELL_U64, UNIT_COUNT, 0, "of its blocks, freed in the interval" \
	}
#define COLUMN_LIFE_P50                                                                        \
	{                                                                                      \
		"p50_ns", "LIFE P50", CELL_U64, UNIT_NS, COL_WIDE,                             \
			"median lifetime of the freed (estimated from a log2 histogram of ms)" \
	}
#define COLUMN_LIVES                                                                           \
	{                                                                                      \
		"hist", "LIFETIMES", CELL_HIST, UNIT_NS, COL_WIDE,                             \
			"log2 histogram of the lifetimes of the freed; the first slot is all " \
			"below 1 ms"                                                           \
	}

static const struct column stack_columns[S_N] = {
	[S_PID] = LEAK_COLUMN_PID,
	[S_COMM] = LEAK_COLUMN_COMM,
	[S_BLOCKS] = COLUMN_BLOCKS,
	[S_BYTES] = COLUMN_BYTES,
	[S_NOW] = LEAK_COLUMN_NOW,
	[S_ALLOCATIONS] = COLUMN_ALLOCATIONS,
	[S_FREES] = COLUMN_FREES,
	[S_OLD] = LEAK_COLUMN_OLD,
	[S_STAYED] = LEAK_COLUMN_STAYED,
	[S_VERDICT] = LEAK_COLUMN_VERDICT,
	[S_OUTLIVED] = LEAK_COLUMN_OUTLIVED,
	[S_FIRST] = LEAK_COLUMN_FIRST,
	[S_MIDDLE] = LEAK_COLUMN_MIDDLE,
	[S_LAST] = LEAK_COLUMN_LAST,
	[S_SLOPE] = LEAK_COLUMN_SLOPE,
	[S_FIT] = LEAK_COLUMN_FIT,
	[S_AGE_P50] = LEAK_COLUMN_AGE_P50,
	[S_AGE_MAX] = LEAK_COLUMN_AGE_MAX,
	[S_AGES] = LEAK_COLUMN_AGES,
	[S_LIFE_P50] = COLUMN_LIFE_P50,
	[S_LIFE_P99] = LEAK_COLUMN_LIFE_P99,
	[S_LIFE_MAX] = LEAK_COLUMN_LIFE_MAX,
	[S_LIVES] = COLUMN_LIVES,
	[S_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"who allocated; none: there was no memory to tell stacks apart"},
};

enum {
	P_PID,
	P_COMM,
	P_BLOCKS,
	P_BYTES,
	P_NOW,
	P_ALLOCATIONS,
	P_FREES,
	P_PEAK,
	P_TIME,
	P_STATE,
	P_VERDICT,
	P_FIRST,
	P_MIDDLE,
	P_LAST,
	P_SLOPE,
	P_FIT,
	P_N,
};

LEAK_TREND_IS(P_FIRST, P_FIT);

static const struct column process_columns[P_N] = {
	[P_PID] = LEAK_COLUMN_PID,
	[P_COMM] = LEAK_COLUMN_COMM,
	[P_BLOCKS] = COLUMN_BLOCKS,
	[P_BYTES] = COLUMN_BYTES,
	[P_NOW] = LEAK_COLUMN_NOW,
	[P_ALLOCATIONS] = COLUMN_ALLOCATIONS,
	[P_FREES] = COLUMN_FREES,
	[P_PEAK] = {"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"most bytes that were allocated at one time (exact)"},
	[P_TIME] = {"seen_ns", "SEEN", CELL_U64, UNIT_NS, 0,
		"how long it was looked at: growth is judged over that"},
	[P_STATE] = {"state", "STATE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"runs, or ended (by exit or exec)"},
	[P_VERDICT] = LEAK_COLUMN_VERDICT,
	[P_FIRST] = LEAK_COLUMN_FIRST,
	[P_MIDDLE] = LEAK_COLUMN_MIDDLE,
	[P_LAST] = LEAK_COLUMN_LAST,
	[P_SLOPE] = LEAK_COLUMN_SLOPE,
	[P_FIT] = LEAK_COLUMN_FIT,
};

const struct view_table leak_heap_tables[] = {
	{"stacks", stack_columns, S_N, sizeof(stack_columns[0])},
	{"processes", process_columns, P_N, sizeof(process_columns[0])},
	{},
};

static void times_add(struct hist *h, const u32 times[HEAP_TIMES])
{
	for (u32 i = 0; i < HEAP_TIMES; i++)
		h->slots[i + HEAP_MS_SLOT] += times[i];
}

static u64 ns_of_ms(u64 ms)
{
	return MIN(ms, ~0ULL / 1000000) * 1000000;
}

static void row_sum(struct leak_heap_row *w, const struct leak_heap_site *s)
{
	const struct heap_site *now = &s->now, *base = &s->base;

	w->live += now->live_blocks;
	w->bytes += now->live_bytes;
	w->allocations += now->allocations;
	w->frees += now->frees;
	w->now_allocations += now->allocations - base->allocations;
	w->now_frees += now->frees - base->frees;
	w->old_blocks += now->old_blocks;
	w->old_bytes += now->old_bytes;
	w->oldest_ns = MAX(w->oldest_ns, ns_of_ms(now->oldest_ms));
	for (u32 i = 0; i < LEAK_SPANS; i++)
		w->series.net[i] = (s64)((u64)w->series.net[i] + (u64)s->series.net[i]);
	times_add(&w->ages, now->ages);
	times_add(&w->lives.hist, now->lives);
	w->lives.count += now->frees;
	w->lives.total_ns += ns_of_ms(now->life_ms);
	w->lives.max_ns = MAX(w->lives.max_ns, ns_of_ms((u64)now->max_life_ms + 1));
}

struct row_key {
	u32 process, stack;
};

/* All rows, of which those of a stack with two numbers are one. */
static int rows_sum(const struct leak_heap *h, struct groups *rows)
{
	for (size_t i = 0; i < h->sites.n; i++) {
		const struct leak_heap_key *k = groups_key(&h->sites, i);
		struct row_key key = {k->process, k->stack};
		struct leak_heap_row *w = groups_get(rows, &key);

		if (!w)
			return -ENOMEM;
		w->process = groups_find(&h->processes, &k->process);
		w->stack = k->stack;
		row_sum(w, groups_value(&h->sites, i));
	}
	return 0;
}

/* Of what was there after the first third, how much is still. */
static double stayed(const struct leak_heap_row *w)
{
	const struct leak_clock *c = &w->process->clock;
	u64 old_ns = ns_of_ms(w->process->now.old_ms);
	s64 then;

	if (!old_ns || c->last_ns < old_ns)
		return -1;
	then = leak_series_at(&w->series, c, c->last_ns - old_ns);
	return then > 0 ? MIN(1.0, (double)w->old_bytes / (double)then) : -1;
}

static void judge(struct leak_heap_row *w)
{
	struct leak_counts n = {w->live, w->allocations, w->frees};

	leak_judge(&w->series, &w->process->clock, &n, &w->judged);
	w->stayed = stayed(w);
	if (w->judged.verdict == LEAK_STEADY && w->stayed >= 0 && w->stayed < 0.5)
		w->judged.verdict = LEAK_RENEWED;
	if (w->judged.verdict == LEAK_FEW && !w->frees && !w->judged.thirds[1] &&
		!w->judged.thirds[2])
		w->judged.verdict = LEAK_ONCE;
}

static void growth_cells(struct cell *row, const struct leak_cells *c)
{
	row[S_VERDICT] = c->verdict;
	row[S_NOW] = c->now;
	row[S_STAYED] = c->stayed;
	memcpy(&row[S_FIRST], c->trend, sizeof(c->trend));
}

static int row_add(struct report *r, struct table *t, const struct leak_heap_row *w, bool by_stack)
{
	struct cell *row = table_row(t);
	struct leak_cells c;

	if (!row)
		return -ENOMEM;
	leak_cells_fill(&c, r, &w->judged, w->stayed,
		&(struct leak_ages){&w->ages, &w->lives, w->old_blocks, w->oldest_ns});
	row[S_PID] = cell_u64(w->process->now.tgid);
	row[S_COMM] = cell_text(report_text(r, "%.16s", w->process->now.comm));
	row[S_BLOCKS] = leak_live_cell(w->live);
	row[S_BYTES] = leak_live_cell(w->bytes);
	row[S_ALLOCATIONS] = cell_u64(w->now_allocations);
	row[S_FREES] = cell_u64(w->now_frees);
	if (by_stack)
		growth_cells(row, &c);
	row[S_OLD] = c.old;
	row[S_AGE_P50] = c.age_p50;
	row[S_AGE_MAX] = c.age_max;
	row[S_AGES] = c.ages;
	row[S_OUTLIVED] = c.outlived;
	row[S_LIFE_P50] = c.life_p50;
	row[S_LIFE_P99] = c.life_p99;
	row[S_LIFE_MAX] = c.life_max;
	row[S_LIVES] = c.lives;
	row[S_STACK] = cell_stack(w->stack);
	return 0;
}

static bool is_long(const struct leak_clock *c)
{
	return c->last_ns - c->begin_ns >= LEAK_SHORTEST_NS;
}

static int process_add(struct report *r, struct table *t, const struct leak_process *p)
{
	struct leak_counts n = {p->now.live_blocks, p->now.allocations, p->now.frees};
	struct durations none = {};
	struct leak_judgement j;
	struct cell *row = table_row(t);
	struct leak_cells c;

	if (!row)
		return -ENOMEM;
	leak_judge(&p->series, &p->clock, &n, &j);
	leak_cells_fill(&c, r, &j, -1, &(struct leak_ages){&none.hist, &none, 0, 0});
	row[P_PID] = cell_u64(p->now.tgid);
	row[P_COMM] = cell_text(report_text(r, "%.16s", p->now.comm));
	row[P_BLOCKS] = cell_u64(p->now.live_blocks);
	row[P_BYTES] = cell_u64(p->now.live_bytes);
	row[P_NOW] = c.now;
	row[P_ALLOCATIONS] = cell_u64(p->now.allocations - p->base.allocations);
	row[P_FREES] = cell_u64(p->now.frees - p->base.frees);
	row[P_PEAK] = cell_u64(p->now.peak_bytes);
	row[P_TIME] = cell_u64(p->clock.last_ns - p->clock.begin_ns);
	row[P_STATE] = cell_text(p->now.h.flags & HEAP_ENDED ? "ended" : "runs");
	row[P_VERDICT] = c.verdict;
	memcpy(&row[P_FIRST], c.trend, sizeof(c.trend));
	return 0;
}

static int processes_report(const struct leak_heap *h, struct report *r, bool *ret_long)
{
	struct table *t = report_table(r, "processes", "Heaps of processes", process_columns, P_N);
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < h->processes.n && !rc; i++) {
		const struct leak_process *p = groups_value(&h->processes, i);

		*ret_long |= is_long(&p->clock);
		rc = process_add(r, t, p);
	}
	if (t)
		t->sort = "live_bytes";
	return rc;
}

static void notes_add(const struct leak_heap *h, struct report *r, bool by_stack, u64 gone)
{
	bool sampled = false, incomplete = false;
	u32 attached = 0; /* one of them */

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct leak_process *p = groups_value(&h->processes, i);

		sampled |= !!(p->now.h.flags & HEAP_SAMPLED);
		incomplete |= !!(p->now.h.flags & HEAP_INCOMPLETE);
		if (p->now.h.flags & HEAP_ATTACHED && !(p->now.h.flags & HEAP_WHOLE))
			attached = p->now.tgid;
	}
	heap_attached_tell(r, attached);
	if (sampled)
		report_note(
			r, "numbers are estimates: allocations were sampled by bytes (--sample)");
	if (incomplete)
		report_note(r, "events were lost: what looks live may have been freed");
	if (gone)
		report_note(r, "%llu other stacks have nothing live", gone);
	if (!by_stack && h->sites.n)
		report_not_checked(r,
			"the course of each stack's live bytes was not recorded: that takes "
			"`memwhy leak --record`");
}

struct rows {
	VEC(struct leak_heap_row *) live; /* largest first */
	VEC(struct leak_heap_row) steady;
	u64 gone;
};

static int by_bytes(const void *a, const void *b)
{
	const struct leak_heap_row *const *x = a, *const *y = b;

	return (*x)->bytes < (*y)->bytes ? 1 : (*x)->bytes > (*y)->bytes ? -1 : 0;
}

static int rows_order(struct groups *all, struct rows *ret)
{
	int rc = 0;

	for (size_t i = 0; i < all->n && !rc; i++) {
		struct leak_heap_row *w = groups_value(all, i);

		if (w->live)
			rc = vec_push(&ret->live, w);
		else
			ret->gone++;
	}
	if (ret->live.n)
		qsort(ret->live.v, ret->live.n, sizeof(*ret->live.v), by_bytes);
	return rc;
}

static int stacks_report(struct rows *rows, bool by_stack, struct report *r)
{
	struct table *t =
		report_table(r, "stacks", "Allocated by programs, not freed", stack_columns, S_N);
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < rows->live.n && !rc; i++) {
		struct leak_heap_row *w = rows->live.v[i];

		judge(w);
		rc = row_add(r, t, w, by_stack);
		if (!rc && by_stack && w->judged.verdict == LEAK_STEADY)
			rc = vec_push(&rows->steady, *w);
	}
	if (t)
		t->empty = "Nothing that was allocated is still live.";
	return rc;
}

int leak_heap_report(const struct leak_heap *h, bool by_stack, struct report *r)
{
	struct groups all;
	struct rows rows = {};
	bool is_judged = false;
	int rc;

	groups_init(&all, sizeof(struct row_key), sizeof(struct leak_heap_row));
	rc = rows_sum(h, &all);
	rc = rc ? rc : rows_order(&all, &rows);
	rc = rc ? rc : stacks_report(&rows, by_stack, r);
	rc = rc ? rc : processes_report(h, r, &is_judged);
	if (!rc) {
		r->tables.v[r->tables.n - 2]->sort =
			is_judged && by_stack ? "growth_bytes_per_s" : "live_bytes";
		leak_heap_suspects(r, rows.steady.v, rows.steady.n);
		rc = leak_mappings_report(&h->mappings, &h->processes, by_stack, r);
		notes_add(h, r, by_stack, rows.gone);
		if (h->sites.n && !is_judged)
			report_next(r,
				"Growth is judged from 6 seconds on; `memwhy heap` shows who held "
				"most at the peak");
	}
	vec_free(&rows.live);
	vec_free(&rows.steady);
	groups_free(&all);
	return rc;
}
