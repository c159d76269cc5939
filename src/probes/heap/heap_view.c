/* The heap of a command as tables: its stacks, or what else --by asks for, and its processes. */
#include "probes/heap/heap_view.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "analysis/by.h"
#include "probes/heap/heap.h"
#include "probes/heap/heap_processes.h"

static const char *const by_keys[] = {BY_TASK_KEYS, NULL};

/* What rows add up, of stacks, processes and threads alike. */
struct sums {
	u64 allocations, bytes, frees, temporary, moved;
	u64 live_blocks, live_bytes, peak_blocks, peak_bytes;
	u64 slack_bytes, life_ms;
	u32 max_life_ms, min_bytes, max_bytes;
	bool of_sites, of_threads; /* what only these know */
	bool sampled, attached;
};

enum {
	C_PEAK = BY_C_OWN,
	C_PEAK_BLOCKS,
	C_LIVE,
	C_LIVE_BLOCKS,
	C_ALLOCATIONS,
	C_BYTES,
	C_FREES,
	C_TEMPORARY,
	C_TEMPORARY_RATIO,
	C_MOVED,
	C_AVERAGE,
	C_MIN,
	C_MAX,
	C_SLACK,
	C_LIFE,
	C_MAX_LIFE,
	C_STACK,
	C_N,
};

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_PEAK] = {0, {"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_WEIGHT,
			       "live when its process held most (exact, but where threads of an "
			       "attached process allocate at the same time; of several processes: "
			       "summed, each at its own peak)"}},
	[C_PEAK_BLOCKS] = {0, {"peak_blocks", "PEAK BLOCKS", CELL_U64, UNIT_COUNT, COL_WIDE,
				      "blocks live at that time"}},
	[C_LIVE] = {0, {"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, 0,
			       "allocated and not freed by the end of the interval, or of the "
			       "process (exact)"}},
	[C_LIVE_BLOCKS] = {0,
		{"live_blocks", "LIVE BLOCKS", CELL_U64, UNIT_COUNT, 0, "blocks of these"}},
	[C_ALLOCATIONS] = {0, {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, 0,
				      "blocks allocated in the interval, by realloc too (exact)"}},
	[C_BYTES] = {0,
		{"allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES, 0, "asked for these"}},
	[C_FREES] = {0, {"frees", "FREES", CELL_U64, UNIT_COUNT, COL_WIDE,
				"blocks freed in the interval: those of this stack or process; of "
				"threads, those it freed"}},
	[C_TEMPORARY] = {0, {"temporary", "TEMPORARY", CELL_U64, UNIT_COUNT, 0,
				    "of the frees, before the same thread's next allocation"}},
	[C_TEMPORARY_RATIO] = {0, {"temporary_ratio", "TEMP%", CELL_F64, UNIT_RATIO, COL_WIDE,
					  "temporary / allocations"}},
	[C_MOVED] = {0, {"moved", "MOVED", CELL_U64, UNIT_COUNT, COL_WIDE,
				"of the allocations, by realloc of a block there was"}},
	[C_AVERAGE] = {0, {"average_bytes", "AVG", CELL_U64, UNIT_BYTES, COL_WIDE,
				  "allocated bytes / allocations"}},
	[C_MIN] = {0, {"min_bytes", "MIN", CELL_U64, UNIT_BYTES, COL_WIDE,
			      "smallest allocation since the process began"}},
	[C_MAX] = {0, {"max_bytes", "MAX", CELL_U64, UNIT_BYTES, COL_WIDE,
			      "largest allocation since the process began"}},
	[C_SLACK] = {0, {"slack_bytes", "SLACK", CELL_U64, UNIT_BYTES, COL_WIDE,
				"what the allocator gave beyond what was asked for, of these "
				"allocations (malloc_usable_size); not of attached processes"}},
	[C_LIFE] = {0, {"average_life_ns", "LIFE", CELL_U64, UNIT_NS, COL_WIDE,
			       "average life of the freed blocks (to some ms)"}},
	[C_MAX_LIFE] = {0, {"max_life_ns", "MAX LIFE", CELL_U64, UNIT_NS, COL_WIDE,
				   "longest life of a freed block since the process began (to "
				   "some ms)"}},
	[C_STACK] = {BY_STACK, {"stack", "STACK", CELL_STACK, UNIT_NONE, 0,
				       "who allocated; none: there was no memory to tell stacks "
				       "apart"}},
};

static const struct by_spec spec = {
	.columns = columns,
	.n_columns = C_N,
	.key_size = sizeof(struct by_task_key),
	.value_size = sizeof(struct sums),
};

/* The latest record of each kind, and as it was when the interval began. */
struct site_key {
	u32 process, stack, site;
};

struct site_state {
	struct heap_site now, base;
};

struct thread_key {
	u32 process, thread;
};

struct thread_state {
	struct heap_thread now, base;
};

struct total_state {
	struct heap_total now, base;
};

struct heap_view_state {
	struct by_sums sums;
	struct groups sites, threads, totals;
};

static int init(void *state, const struct view_options *o, struct err *err)
{
	struct heap_view_state *v = state;
	int rc = by_sums_init(&v->sums, &spec, &heap_view, o, err);

	if (rc)
		return rc;
	groups_init(&v->sites, sizeof(struct site_key), sizeof(struct site_state));
	groups_init(&v->threads, sizeof(struct thread_key), sizeof(struct thread_state));
	groups_init(&v->totals, sizeof(u32), sizeof(struct total_state));
	return 0;
}

static int feed(void *state, const struct rec *r)
{
	struct heap_view_state *v = state;

	if (r->kind == REC_HEAP_SITE) {
		const struct heap_site *s = (const struct heap_site *)r;
		struct site_key k = {s->process, s->stack, s->site};
		struct site_state *at = groups_get(&v->sites, &k);

		if (!at)
			return -ENOMEM;
		at->now = *s;
	} else if (r->kind == REC_HEAP_THREAD) {
		const struct heap_thread *t = (const struct heap_thread *)r;
		struct thread_key k = {t->process, t->thread};
		struct thread_state *at = groups_get(&v->threads, &k);

		if (!at)
			return -ENOMEM;
		at->now = *t;
	} else if (r->kind == REC_HEAP_TOTAL) {
		const struct heap_total *t = (const struct heap_total *)r;
		struct total_state *at = groups_get(&v->totals, &t->process);

		if (!at)
			return -ENOMEM;
		at->now = *t;
	}
	return 0;
}

#define ADD_COMMON(s, now, base)                                              \
	do {                                                                  \
		(s)->allocations += (now)->allocations - (base)->allocations; \
		(s)->bytes += (now)->bytes - (base)->bytes;                   \
		(s)->frees += (now)->frees - (base)->frees;                   \
		(s)->temporary += (now)->temporary - (base)->temporary;       \
		(s)->live_blocks += (now)->live_blocks;                       \
		(s)->live_bytes += (now)->live_bytes;                         \
	} while (0)

#define ADD_PEAK(s, now, base)                              \
	do {                                                \
		(s)->moved += (now)->moved - (base)->moved; \
		(s)->peak_blocks += (now)->peak_blocks;     \
		(s)->peak_bytes += (now)->peak_bytes;       \
	} while (0)

static const struct heap_total *total_of(const struct heap_view_state *v, u32 process)
{
	const struct total_state *t = groups_find(&v->totals, &process);

	return t ? &t->now : NULL;
}

/* comm: of a thread; NULL: the process's own. */
static struct sums *sums_of(struct heap_view_state *v, u32 process, u32 tgid, u32 tid,
	const char comm[COMM_LEN], u32 stack)
{
	const struct heap_total *t = total_of(v, process);
	struct by_task_key k = by_task_key(v->sums.by, tgid, tid, t ? t->cgroup : 0, stack,
		comm ? comm
		: t  ? t->comm
		     : (const char[COMM_LEN]){});
	struct sums *s;

	s = groups_get(&v->sums.groups, &k);
	if (s) {
		s->sampled |= t && t->h.flags & HEAP_SAMPLED;
		s->attached |= t && t->h.flags & HEAP_ATTACHED;
	}
	return s;
}

static int sites_add(struct heap_view_state *v)
{
	for (size_t i = 0; i < v->sites.n; i++) {
		const struct site_state *at = groups_value(&v->sites, i);
		const struct heap_site *now = &at->now, *base = &at->base;
		struct sums *s = sums_of(v, now->process, now->tgid, 0, NULL, now->stack);

		if (!s)
			return -ENOMEM;
		ADD_COMMON(s, now, base);
		ADD_PEAK(s, now, base);
		s->slack_bytes += now->slack_bytes - base->slack_bytes;
		s->life_ms += now->life_ms - base->life_ms;
		s->max_life_ms = MAX(s->max_life_ms, now->max_life_ms);
		s->min_bytes = s->of_sites ? MIN(s->min_bytes, now->min_bytes) : now->min_bytes;
		s->max_bytes = MAX(s->max_bytes, now->max_bytes);
		s->of_sites = true;
	}
	return 0;
}

static int threads_add(struct heap_view_state *v)
{
	for (size_t i = 0; i < v->threads.n; i++) {
		const struct thread_state *at = groups_value(&v->threads, i);
		struct sums *s =
			sums_of(v, at->now.process, at->now.tgid, at->now.tid, at->now.comm, 0);

		if (!s)
			return -ENOMEM;
		ADD_COMMON(s, &at->now, &at->base);
		s->of_threads = true;
	}
	return 0;
}

/* Blocks of which no site knows are in the sums of their process all the same. */
static int totals_add(struct heap_view_state *v)
{
	for (size_t i = 0; i < v->totals.n; i++) {
		const struct total_state *at = groups_value(&v->totals, i);
		struct sums *s = sums_of(v, at->now.process, at->now.tgid, 0, NULL, 0);

		if (!s)
			return -ENOMEM;
		ADD_COMMON(s, &at->now, &at->base);
		ADD_PEAK(s, &at->now, &at->base);
	}
	return 0;
}

static u64 ns_of_ms(u64 ms)
{
	return ms > UINT64_MAX / 1000000 ? UINT64_MAX : ms * 1000000;
}

static void row_fill(struct cell all[C_N], const struct sums *s, u32 stack)
{
	all[C_LIVE] = cell_u64(s->live_bytes);
	all[C_LIVE_BLOCKS] = cell_u64(s->live_blocks);
	all[C_ALLOCATIONS] = cell_u64(s->allocations);
	all[C_BYTES] = cell_u64(s->bytes);
	all[C_FREES] = cell_u64(s->frees);
	all[C_TEMPORARY] = cell_u64(s->temporary);
	if (s->allocations) {
		all[C_TEMPORARY_RATIO] = cell_f64((double)s->temporary / (double)s->allocations);
		all[C_AVERAGE] = cell_u64(s->bytes / s->allocations);
	}
	if (s->sampled) {
		all[C_TEMPORARY] = all[C_TEMPORARY_RATIO] = (struct cell){};
	}
	if (!s->of_threads) {
		all[C_PEAK] = cell_u64(s->peak_bytes);
		all[C_PEAK_BLOCKS] = cell_u64(s->peak_blocks);
		all[C_MOVED] = cell_u64(s->moved);
	}
	if (!s->of_sites)
		return;
	all[C_MIN] = cell_u64(s->min_bytes);
	all[C_MAX] = cell_u64(s->max_bytes);
	if (!s->attached)
		all[C_SLACK] = cell_u64(s->slack_bytes);
	if (s->frees) {
		all[C_LIFE] = cell_u64(ns_of_ms(s->life_ms / s->frees));
		all[C_MAX_LIFE] = cell_u64(ns_of_ms(s->max_life_ms));
	}
	all[C_STACK] = cell_stack(stack);
}

static int rows_add(struct heap_view_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->sums, r, "heap",
		v->sums.by & BY_STACK    ? "Heap by stack"
		: v->sums.by & BY_THREAD ? "Heap by thread"
					 : "Heap");
	int rc = t ? 0 : -ENOMEM;

	if (!t)
		return rc;
	t->empty = "Nothing was allocated.";
	t->sort = v->sums.by & BY_THREAD ? "allocated_bytes" : "peak_bytes";
	for (size_t i = 0; i < v->sums.groups.n && !rc; i++) {
		const struct by_task_key *k = groups_key(&v->sums.groups, i);
		const struct sums *s = groups_value(&v->sums.groups, i);
		struct cell all[C_N] = {};

		if (!s->allocations && !s->frees && !s->live_blocks && !s->peak_blocks)
			continue;
		by_task_cells(r, v->sums.by, k, all);
		row_fill(all, s, k->stack);
		if (!s->of_threads)
			all[BY_C_TID] = (struct cell){};
		rc = by_sums_row(&v->sums, t, all);
	}
	return rc;
}

/* What a reader must know. */
static void notes_add(struct heap_view_state *v, struct report *r)
{
	bool sampled = false, attached = false;

	for (size_t i = 0; i < v->totals.n; i++) {
		const struct total_state *at = groups_value(&v->totals, i);

		sampled |= at->now.h.flags & HEAP_SAMPLED;
		attached |= at->now.h.flags & HEAP_ATTACHED && !(at->now.h.flags & HEAP_WHOLE);
	}
	if (attached)
		report_note(r, "all of it is about blocks allocated since memwhy attached");
	if (sampled)
		report_note(r, "numbers are estimates: allocations were sampled by bytes "
			       "(--sample)");
	if (v->sums.by & BY_STACK && v->sums.by & BY_THREAD)
		report_note(r, "what a stack allocated is known by process, not by thread");
}

static int processes_add(struct heap_view_state *v, struct report *r)
{
	struct table *t =
		report_table(r, "process", "Processes", heap_process_columns, HEAP_PROCESS_COLUMNS);

	if (!t)
		return -ENOMEM;
	t->sort = "peak_bytes";
	for (size_t i = 0; i < v->totals.n; i++) {
		const struct total_state *at = groups_value(&v->totals, i);
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		heap_process_fill(row, r, &at->now);
	}
	return 0;
}

static int report(void *state, struct report *r)
{
	struct heap_view_state *v = state;
	int rc;

	groups_clear(&v->sums.groups);
	if (v->sums.by & BY_STACK)
		rc = sites_add(v);
	else if (v->sums.by & BY_THREAD)
		rc = threads_add(v);
	else
		rc = totals_add(v);
	notes_add(v, r);
	rc = rc ? rc : rows_add(v, r);
	return rc ? rc : processes_add(v, r);
}

static void reset(void *state)
{
	struct heap_view_state *v = state;

	for (size_t i = 0; i < v->sites.n; i++) {
		struct site_state *at = groups_value(&v->sites, i);

		at->base = at->now;
	}
	for (size_t i = 0; i < v->threads.n; i++) {
		struct thread_state *at = groups_value(&v->threads, i);

		at->base = at->now;
	}
	for (size_t i = 0; i < v->totals.n; i++) {
		struct total_state *at = groups_value(&v->totals, i);

		at->base = at->now;
	}
}

static void destroy(void *state)
{
	struct heap_view_state *v = state;

	by_sums_free(&v->sums);
	groups_free(&v->sites);
	groups_free(&v->threads);
	groups_free(&v->totals);
}

static const struct view_table heap_tables[] = {
	{"heap", &columns[0].col, C_N, sizeof(struct by_column)},
	{"process", heap_process_columns, HEAP_PROCESS_COLUMNS, sizeof(struct column)},
	{},
};

static const struct view_table *const tables[] = {heap_tables, NULL};

const struct view heap_view = {
	.size = sizeof(struct heap_view_state),
	.by_default = "stack",
	.by_keys = by_keys,
	.tables = tables,
	.init = init,
	.feed = feed,
	.report = report,
	.reset = reset,
	.destroy = destroy,
};
