/* What the stacks of a heap hold, and what to make of it: see leak_heap.h. */
#include "probes/leak/leak_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct leak_process *process_of(const struct row_of *row)
{
	return *(const struct leak_process *const *)row->sums;
}

CELL_GET(leak_pid_cell)
{
	return cell_u64(process_of(row)->now.tgid);
}

CELL_GET(leak_comm_cell)
{
	return cell_text(report_textn(r, process_of(row)->now.comm, COMM_LEN));
}

#define BLOCKS_COLUMN                                                                  \
	"live_blocks", "LIVE", CELL_U64, UNIT_COUNT, COL_LEVEL,                        \
		"blocks allocated and not freed by now, or by the end of the process " \
		"(exact)"
#define BYTES_COLUMN \
	"live_bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_WEIGHT | COL_LEVEL, "asked for those"
#define ALLOCATIONS_COLUMN \
	"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, 0, "blocks allocated in the interval"
#define FREES_COLUMN \
	"frees", "FREES", CELL_U64, UNIT_COUNT, 0, "of its blocks, freed in the interval"
#define OF(type_, member_, column_, get_)                    \
	{                                                    \
		0, {column_}, get_, offsetof(type_, member_) \
	}

static const struct cell_column stack_columns[] = {
	LEAK_CELLS_PROCESS(leak_pid_cell, leak_comm_cell),
	OF(struct leak_heap_row, live, BLOCKS_COLUMN, leak_live_cell),
	OF(struct leak_heap_row, bytes, BYTES_COLUMN, leak_live_cell),
	LEAK_CELL_NOW,
	OF(struct leak_heap_row, now_allocations, ALLOCATIONS_COLUMN, cell_of_u64),
	OF(struct leak_heap_row, now_frees, FREES_COLUMN, cell_of_u64),
	LEAK_CELL_OLD,
	LEAK_CELL_STAYED,
	LEAK_CELL_VERDICT,
	LEAK_CELL_OUTLIVED,
	LEAK_CELLS_TREND,
	LEAK_CELL_AGE_P50,
	LEAK_CELL_AGE_MAX,
	LEAK_CELL_AGES,
	LEAK_CELL(life_p50, "p50_ns", "LIFE P50", CELL_U64, UNIT_NS, COL_WIDE,
		"median lifetime of the freed (estimated from a log2 histogram of ms)"),
	LEAK_CELL_LIFE_P99,
	LEAK_CELL_LIFE_MAX,
	LEAK_CELL(lives, "hist", "LIFETIMES", CELL_HIST, UNIT_NS, COL_WIDE,
		"log2 histogram of the lifetimes of the freed; the first slot is all below 1 ms"),
	CELL_STACK_OF(struct leak_heap_row, stack,
		"who allocated; none: there was no memory to tell stacks apart"),
};

#define PROCESS(row_) ((const struct leak_process *)(row_)->sums)

static CELL_GET(process_pid_cell)
{
	return cell_u64(PROCESS(row)->now.tgid);
}

static CELL_GET(process_comm_cell)
{
	return cell_text(report_textn(r, PROCESS(row)->now.comm, COMM_LEN));
}

static CELL_GET(process_allocations_cell)
{
	const struct leak_process *p = row->sums;

	return cell_u64(p->now.allocations - p->base.allocations);
}

static CELL_GET(process_frees_cell)
{
	const struct leak_process *p = row->sums;

	return cell_u64(p->now.frees - p->base.frees);
}

static CELL_GET(seen_cell)
{
	const struct leak_process *p = row->sums;

	return cell_u64(p->clock.last_ns - p->clock.begin_ns);
}

static CELL_GET(state_cell)
{
	return cell_text(PROCESS(row)->now.h.flags & HEAP_ENDED ? "ended" : "runs");
}

static const struct cell_column process_columns[] = {
	LEAK_CELLS_PROCESS(process_pid_cell, process_comm_cell),
	OF(struct leak_process, now.live_blocks, BLOCKS_COLUMN, cell_of_u64),
	OF(struct leak_process, now.live_bytes, BYTES_COLUMN, cell_of_u64),
	LEAK_CELL_NOW,
	{0, {ALLOCATIONS_COLUMN}, process_allocations_cell, 0},
	{0, {FREES_COLUMN}, process_frees_cell, 0},
	CELL_NUMBER(struct leak_process, now.peak_bytes, "peak_bytes", "PEAK", UNIT_BYTES,
		COL_LEVEL, "most bytes that were allocated at one time (exact)"),
	CELL_BY(0, "seen_ns", "SEEN", CELL_U64, UNIT_NS, 0,
		"how long it was looked at: growth is judged over that", seen_cell),
	CELL_BY(0, "state", "STATE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"runs, or ended (by exit or exec)", state_cell),
	LEAK_CELL_VERDICT,
	LEAK_CELLS_TREND,
};

const struct view_table leak_heap_tables[] = {
	CELLS_VIEW("stacks", stack_columns),
	CELLS_VIEW("processes", process_columns),
	{},
};

static void times_add(struct hist *h, const u32 times[HEAP_TIMES])
{
	for (u32 i = 0; i < HEAP_TIMES; i++)
		h->slots[i + HEAP_MS_SLOT] += times[i];
}

static u64 leak_heap_ns_of_ms(u64 ms)
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
	w->oldest_ns = MAX(w->oldest_ns, leak_heap_ns_of_ms(now->oldest_ms));
	for (u32 i = 0; i < LEAK_SPANS; i++)
		w->series.net[i] = (s64)((u64)w->series.net[i] + (u64)s->series.net[i]);
	times_add(&w->ages, now->ages);
	times_add(&w->lives.hist, now->lives);
	w->lives.count += now->frees;
	w->lives.total_ns += leak_heap_ns_of_ms(now->life_ms);
	w->lives.max_ns = MAX(w->lives.max_ns, leak_heap_ns_of_ms((u64)now->max_life_ms + 1));
}

struct row_key {
	u32 process, stack;
};

/* All rows, of which those of a stack with two numbers are one. */
static int leak_heap_rows_sum(const struct leak_heap *h, struct groups *rows)
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
static double leak_heap_stayed(const struct leak_heap_row *w)
{
	const struct leak_clock *c = &w->process->clock;
	u64 old_ns = leak_heap_ns_of_ms(w->process->now.old_ms);
	s64 then;

	if (!old_ns || c->last_ns < old_ns)
		return -1;
	then = leak_series_at(&w->series, c, c->last_ns - old_ns);
	return then > 0 ? MIN(1.0, (double)w->old_bytes / (double)then) : -1;
}

static void leak_heap_judge(struct leak_heap_row *w)
{
	struct leak_counts n = {w->live, w->allocations, w->frees};

	leak_judge(&w->series, &w->process->clock, &n, &w->judged);
	w->stayed = leak_heap_stayed(w);
	if (w->judged.verdict == LEAK_STEADY && w->stayed >= 0 && w->stayed < 0.5)
		w->judged.verdict = LEAK_RENEWED;
	if (w->judged.verdict == LEAK_FEW && !w->frees && !w->judged.thirds[1] &&
		!w->judged.thirds[2])
		w->judged.verdict = LEAK_ONCE;
}

static int leak_heap_row_add(
	struct report *r, struct table *t, const struct leak_heap_row *w, bool by_stack)
{
	struct leak_cells c;

	leak_cells_fill(&c, r, by_stack ? &w->judged : NULL, w->stayed,
		&(struct leak_ages){&w->ages, &w->lives, w->old_blocks, w->oldest_ns});
	return cells_row(
		t, r, stack_columns, ARRAY_SIZE(stack_columns), &(struct row_of){0, w, w, &c});
}

static bool is_long(const struct leak_clock *c)
{
	return c->last_ns - c->begin_ns >= LEAK_SHORTEST_NS;
}

static int leak_heap_process_add(struct report *r, struct table *t, const struct leak_process *p)
{
	struct leak_counts n = {p->now.live_blocks, p->now.allocations, p->now.frees};
	struct durations none = {};
	struct leak_judgement j;
	struct leak_cells c;

	leak_judge(&p->series, &p->clock, &n, &j);
	leak_cells_fill(&c, r, &j, -1, &(struct leak_ages){&none.hist, &none, 0, 0});
	return cells_row(
		t, r, process_columns, ARRAY_SIZE(process_columns), &(struct row_of){0, p, p, &c});
}

static int processes_report(const struct leak_heap *h, struct report *r, bool *ret_long)
{
	struct table *t = cells_table(
		r, "processes", "Heaps of processes", process_columns, ARRAY_SIZE(process_columns));
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < h->processes.n && !rc; i++) {
		const struct leak_process *p = groups_value(&h->processes, i);

		*ret_long |= is_long(&p->clock);
		rc = leak_heap_process_add(r, t, p);
	}
	if (t)
		t->sort = "live_bytes";
	return rc;
}

static void leak_heap_notes_add(
	const struct leak_heap *h, struct report *r, bool by_stack, u64 gone)
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

static int leak_heap_by_bytes(const void *a, const void *b)
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
		qsort(ret->live.v, ret->live.n, sizeof(*ret->live.v), leak_heap_by_bytes);
	return rc;
}

static int stacks_report(struct rows *rows, bool by_stack, struct report *r)
{
	struct table *t = cells_table(r, "stacks", "Allocated by programs, not freed",
		stack_columns, ARRAY_SIZE(stack_columns));
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < rows->live.n && !rc; i++) {
		struct leak_heap_row *w = rows->live.v[i];

		leak_heap_judge(w);
		rc = leak_heap_row_add(r, t, w, by_stack);
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
	rc = leak_heap_rows_sum(h, &all);
	rc = rc ? rc : rows_order(&all, &rows);
	rc = rc ? rc : stacks_report(&rows, by_stack, r);
	rc = rc ? rc : processes_report(h, r, &is_judged);
	if (!rc) {
		r->tables.v[r->tables.n - 2]->sort =
			is_judged && by_stack ? "growth_bytes_per_s" : "live_bytes";
		leak_heap_suspects(r, rows.steady.v, rows.steady.n);
		rc = leak_mappings_report(&h->mappings, &h->processes, by_stack, r);
		leak_heap_notes_add(h, r, by_stack, rows.gone);
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
