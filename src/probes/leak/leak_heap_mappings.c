/* What the programs mapped by themselves and keep, past the allocator: see leak_heap.h. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/leak/leak_evidence.h"
#include "probes/leak/leak_heap.h"

#define PAGE 4096ULL

struct site_key {
	u32 process, site, kind;
};

struct site {
	struct heap_mapping now, base;
	struct leak_series series;
};

/* Two numbers of one stack are one row. */
struct row_key {
	u32 process, stack, kind;
};

struct row {
	const struct leak_process *process;
	u32 stack, kind;
	u64 live, calls, mapped, unmapped;       /* since the process began */
	u64 now_calls, now_mapped, now_unmapped; /* in the interval */
	struct leak_series series;
	struct leak_judgement judged;
	double stayed; /* at least; below 0: not known */
};

static CELL_GET(kind_cell)
{
	return cell_text(heap_mapped_name(((const struct row *)row->sums)->kind));
}

#define IN_INTERVAL(member_, name_, title_, unit_, help_) \
	CELL_NUMBER(struct row, member_, name_, title_, unit_, 0, help_)

static const struct cell_column columns[] = {
	LEAK_CELLS_PROCESS(leak_pid_cell, leak_comm_cell),
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"anonymous or file (private), shared, shared file, or break (brk, sbrk); empty: "
		"not known",
		kind_cell),
	CELL_FROM(0, struct row, live, "live_bytes", "LIVE", CELL_U64, UNIT_BYTES,
		COL_WEIGHT | COL_LEVEL,
		"mapped and not unmapped by now, or by the end of the process (exact)",
		leak_live_cell),
	LEAK_CELL_NOW,
	IN_INTERVAL(now_calls, "calls", "CALLS", UNIT_COUNT,
		"mmap, mremap, brk and sbrk that mapped or moved, in the interval"),
	IN_INTERVAL(now_mapped, "mapped_bytes", "MAPPED", UNIT_BYTES,
		"by these, in whole pages; of an mremap, what it grew by"),
	IN_INTERVAL(now_unmapped, "unmapped_bytes", "UNMAPPED", UNIT_BYTES,
		"of what this stack mapped: unmapped in the interval, by any code"),
	LEAK_CELL(stayed, "stayed_ratio", "STAYED", CELL_F64, UNIT_RATIO, 0,
		"of the bytes that were mapped after the first third of the time, still there: at "
		"least that, as if all that was unmapped had been among them"),
	LEAK_CELL_VERDICT,
	LEAK_CELLS_TREND,
	CELL_STACK_OF(struct row, stack, "who mapped"),
};

const struct view_table leak_mapping_tables[] = {
	CELLS_VIEW("mappings", columns),
	{},
};

void leak_mappings_init(struct groups *sites)
{
	groups_init(sites, sizeof(struct site_key), sizeof(struct site));
}

int leak_mapping_feed(
	struct groups *sites, const struct leak_process *p, const struct heap_mapping *r)
{
	struct site_key k = {r->process, r->site, r->kind};
	struct site *s = p ? groups_get(sites, &k) : NULL;

	if (!s)
		return p ? -ENOMEM : 0;
	leak_series_add(&s->series, &p->clock, (s64)(r->live_bytes - s->now.live_bytes));
	s->now = *r;
	return 0;
}

void leak_mappings_join(struct groups *sites, u32 process)
{
	for (size_t i = 0; i < sites->n; i++)
		if (((const struct site_key *)groups_key(sites, i))->process == process)
			leak_series_join(&((struct site *)groups_value(sites, i))->series);
}

void leak_mappings_reset(struct groups *sites)
{
	for (size_t i = 0; i < sites->n; i++) {
		struct site *s = groups_value(sites, i);

		s->base = s->now;
	}
}

static u64 rise(u64 now, u64 base)
{
	return now > base ? now - base : 0;
}

static void row_sum(struct row *w, const struct site *s)
{
	const struct heap_mapping *now = &s->now, *base = &s->base;

	w->live += now->live_bytes;
	w->calls += now->calls;
	w->mapped += now->mapped_bytes;
	w->unmapped += now->unmapped_bytes;
	w->now_calls += rise(now->calls, base->calls);
	w->now_mapped += rise(now->mapped_bytes, base->mapped_bytes);
	/* what a move or a failed munmap took away before the interval is back in it */
	w->now_unmapped += rise(now->unmapped_bytes, base->unmapped_bytes);
	for (u32 i = 0; i < LEAK_SPANS; i++)
		w->series.net[i] = (s64)((u64)w->series.net[i] + (u64)s->series.net[i]);
}

/* Which of them were unmapped is not told: at worst all of the old ones. */
static double leak_heap_mappings_stayed(const struct row *w)
{
	const struct leak_clock *c = &w->process->clock;
	s64 then = leak_series_at(&w->series, c, c->begin_ns + (c->last_ns - c->begin_ns) / 3);

	if (then <= 0)
		return -1;
	return MAX(0.0, 1 - (double)w->unmapped / (double)then);
}

static void leak_heap_mappings_judge(struct row *w)
{
	struct leak_counts n = {w->live / PAGE, w->mapped / PAGE, w->unmapped / PAGE};

	leak_judge(&w->series, &w->process->clock, &n, &w->judged);
	w->stayed = leak_heap_mappings_stayed(w);
}

static int leak_heap_mappings_row_add(
	struct report *r, struct table *t, const struct row *w, bool by_stack)
{
	struct durations none = {};
	struct leak_cells c;

	leak_cells_fill(&c, r, by_stack ? &w->judged : NULL, w->stayed,
		&(struct leak_ages){&none.hist, &none, 0, 0});
	return cells_row(t, r, columns, ARRAY_SIZE(columns), &(struct row_of){0, w, w, &c});
}

static void leak_mapping_tell(struct report *r, const struct leak_evidence *e, const void *arg)
{
	const struct row *w = e->of;
	const struct heap_total *p = &w->process->now;
	struct finding *f = report_finding(r, leak_suspect_level(r, e->judged), "leak-mapped");
	char a[UNIT_BUF], b[UNIT_BUF];

	(void)arg;
	if (!f)
		return;
	f->title = report_text(r, "Suspect: %.16s (pid %u) maps memory and keeps it, %s a minute",
		p->comm, p->tgid, fmt_bytes(a, (u64)e->judged->now * 60));
	f->confidence = report_text(r,
		"medium: every call was followed, but %.0f s cannot tell a leak from a cache that "
		"fills",
		e->judged->seconds);
	finding_line(r, f->evidence, "%s mapped and not unmapped, of %s that %llu calls mapped",
		fmt_bytes(a, w->live), fmt_bytes(b, w->mapped), w->calls);
	leak_tell_thirds(r, f, e->judged);
	finding_line(r, f->evidence,
		"of what was there after the first third, at least %.0f %% still is",
		100 * e->stayed);
	leak_tell_stack(r, f, w->stack);
	f->why = "The program maps this itself, bypassing malloc: its own allocator (objects of "
		 "Python, Go or Java), buffers, files. What is stored there is not seen.";
	if (!strncmp(p->comm, "python", 6))
		finding_line(r, f->try_,
			"Let Python allocate each object by malloc, to see which code makes them: "
			"the same command with PYTHONMALLOC=malloc in its environment.");
	else
		finding_line(r, f->try_,
			"Ask the runtime or library that maps it: its heap profiler, its "
			"statistics, its limit.");
	finding_line(r, f->try_,
		"Run it longer, to tell a leak from a cache that fills: this was %.0f s.",
		e->judged->seconds);
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "The same command again: this stack no longer grows steadily.");
}

static int suspects_tell(struct report *r, const struct groups *rows)
{
	VEC(struct leak_evidence) v = {};
	int rc = 0;

	for (size_t i = 0; i < rows->n && !rc; i++) {
		const struct row *w = groups_value(rows, i);

		if (w->judged.verdict == LEAK_STEADY)
			rc = vec_push(&v, ((struct leak_evidence){
						  .of = w,
						  .judged = &w->judged,
						  .live = w->live / PAGE,
						  .bytes = w->live,
						  .allocated = w->mapped / PAGE,
						  .stayed = w->stayed,
					  }));
	}
	if (!rc)
		leak_suspects_tell(r, v.v, v.n, "mappings", leak_mapping_tell, NULL);
	vec_free(&v);
	return rc;
}

static int leak_heap_mappings_rows_sum(
	const struct groups *sites, const struct groups *processes, struct groups *rows)
{
	for (size_t i = 0; i < sites->n; i++) {
		const struct site *s = groups_value(sites, i);
		struct row_key k = {s->now.process, s->now.stack, s->now.kind};
		struct row *w = groups_get(rows, &k);

		if (!w)
			return -ENOMEM;
		w->process = groups_find(processes, &k.process);
		w->stack = k.stack;
		w->kind = k.kind;
		row_sum(w, s);
	}
	return 0;
}

int leak_mappings_report(
	const struct groups *sites, const struct groups *processes, bool by_stack, struct report *r)
{
	struct table *t = cells_table(r, "mappings",
		"Mapped by the programs themselves, not unmapped", columns, ARRAY_SIZE(columns));
	struct groups rows;
	bool judged = false;
	int rc;

	groups_init(&rows, sizeof(struct row_key), sizeof(struct row));
	rc = t ? leak_heap_mappings_rows_sum(sites, processes, &rows) : -ENOMEM;
	for (size_t i = 0; i < rows.n && !rc; i++) {
		struct row *w = groups_value(&rows, i);

		leak_heap_mappings_judge(w);
		judged |= w->judged.verdict != LEAK_SHORT;
		if (w->live)
			rc = leak_heap_mappings_row_add(r, t, w, by_stack);
	}
	if (t)
		t->sort = judged && by_stack ? "growth_bytes_per_s" : "live_bytes";
	if (!rc && by_stack)
		rc = suspects_tell(r, &rows);
	groups_free(&rows);
	return rc;
}
