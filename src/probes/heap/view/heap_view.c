/* The heap of a command as tables: its stacks, or what else --by asks for, and its processes. */
#include "probes/heap/view/heap_view.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/heap/events/event_replay.h"
#include "probes/heap/view/heap_columns.h"
#include "probes/heap/view/heap_tables.h"

static const char *const by_keys[] = {BY_TASK_KEYS, NULL};

/* The latest record of each kind, and as it was when the interval began. */
struct site_key {
	u32 process, stack, site;
};

struct site_base {
	u64 allocations, bytes, frees, temporary, moved, slack_bytes, life_ms;
};

struct site_state {
	struct heap_site now;
	struct site_base base;
};

struct thread_key {
	u32 process, thread;
};

struct thread_state {
	struct heap_thread now, base;
};

struct total_state {
	struct heap_total now, base;
	struct heap_growth growth;
};

struct heap_view_state {
	struct by_sums sums;
	struct groups sites, threads, totals;
	struct heap_mappings mappings;
	struct heap_residences residences;
	struct heap_together_record together; /* h.kind: there was one */
	struct event_replay *replay;          /* of a part of the recording; NULL: all of it */
	u64 from_ns, to_ns;
};

static int feed_part(void *state, const struct rec *r);

/* At most half of what the machine has. */
static u64 memory_most(u64 most_bytes)
{
	return MIN(most_bytes, (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / 2);
}

static int heap_view_init(void *state, const struct view_options *o, struct err *err)
{
	struct heap_view_state *v = state;
	int rc = by_sums_init(&v->sums, &heap_spec, &heap_view, o, err);

	if (rc)
		return rc;
	groups_init(&v->sites, sizeof(struct site_key), sizeof(struct site_state));
	groups_init(&v->threads, sizeof(struct thread_key), sizeof(struct thread_state));
	groups_init(&v->totals, sizeof(u32), sizeof(struct total_state));
	rc = heap_mappings_init(&v->mappings, &heap_view, o, err);
	rc = rc ? rc : heap_residences_init(&v->residences, &heap_view, o, err);
	if (rc || !(o->from_ns || o->to_ns))
		return rc;
	v->from_ns = o->from_ns;
	v->to_ns = o->to_ns ? o->to_ns : UINT64_MAX;
	rc = event_replay_open(
		v->from_ns, v->to_ns, memory_most(o->most_bytes), feed_part, v, &v->replay);
	return rc ? err_errno(err, rc, "heap") : 0;
}

static int feed_sums(void *state, const struct rec *r)
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
		heap_growth_add(&at->growth, t);
	} else if (r->kind == REC_HEAP_MAPPING) {
		return heap_mapping_feed(&v->mappings, (const struct heap_mapping *)r);
	} else if (r->kind == REC_HEAP_MAPPED) {
		return heap_mapped_feed(&v->mappings, (const struct heap_mapped *)r);
	} else if (r->kind == REC_HEAP_RESIDENCE) {
		return heap_residence_feed(&v->residences, (const struct heap_residence *)r);
	} else if (r->kind == REC_HEAP_LOOKED) {
		return heap_looked_feed(&v->residences, (const struct heap_looked *)r);
	} else if (r->kind == REC_HEAP_TOGETHER) {
		v->together = *(const struct heap_together_record *)r;
	}
	return 0;
}

/* Of a part of a run its sums are made of its events. */
static int heap_view_feed(void *state, const struct rec *r)
{
	struct heap_view_state *v = state;

	return v->replay ? event_replay_feed(v->replay, r) : feed_sums(v, r);
}

static double square(u64 v)
{
	return (double)v * (double)v;
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

#define ADD_PEAK(s, now, base)                                         \
	do {                                                           \
		(s)->moved += (now)->moved - (base)->moved;            \
		(s)->peak_blocks += (now)->peak_blocks;                \
		(s)->peak_bytes += (now)->peak_bytes;                  \
		(s)->live_variance += square((now)->live_error_bytes); \
		(s)->peak_variance += square((now)->peak_error_bytes); \
		(s)->variance += square((now)->error_bytes);           \
	} while (0)

static const struct heap_total *total_of(const void *view, u32 process)
{
	const struct heap_view_state *v = view;
	const struct total_state *t = groups_find(&v->totals, &process);

	return t ? &t->now : NULL;
}

/* comm: of a thread; NULL: the process's own. */
static struct heap_sums *heap_view_sums_of(struct heap_view_state *v, u32 process, u32 tgid,
	u32 tid, const char comm[COMM_LEN], u32 stack)
{
	const struct heap_total *t = total_of(v, process);
	struct by_task_key k = by_task_key(v->sums.by, tgid, tid, t ? t->cgroup : 0, stack,
		comm ? comm
		: t  ? t->comm
		     : (const char[COMM_LEN]){});
	struct heap_sums *s;

	s = groups_get(&v->sums.groups, &k);
	if (s) {
		s->sampled |= t && t->h.flags & HEAP_SAMPLED;
		s->attached |= t && t->h.flags & HEAP_ATTACHED;
	}
	return s;
}

static int heap_view_site_add(
	struct heap_view_state *v, const struct heap_site *now, const struct site_base *base)
{
	struct heap_sums *s = heap_view_sums_of(v, now->process, now->tgid, 0, NULL, now->stack);

	if (!s)
		return -ENOMEM;
	ADD_COMMON(s, now, base);
	ADD_PEAK(s, now, base);
	s->slack_bytes += now->slack_bytes - base->slack_bytes;
	s->life_ms += now->life_ms - base->life_ms;
	s->max_life_ms = MAX(s->max_life_ms, now->max_life_ms);
	s->min_bytes = s->of_sites ? MIN(s->min_bytes, now->min_bytes) : now->min_bytes;
	s->max_bytes = MAX(s->max_bytes, now->max_bytes);
	for (u32 k = 0; k < HEAP_TIMES; k++)
		s->lives[k] += now->lives[k];
	s->of_sites = true;
	return 0;
}

static int sites_add(struct heap_view_state *v)
{
	int rc = 0;

	for (size_t i = 0; i < v->sites.n && !rc; i++) {
		const struct site_state *at = groups_value(&v->sites, i);

		rc = heap_view_site_add(v, &at->now, &at->base);
	}
	return rc;
}

/* What the replay says: of each site only once, when there is a report. */
static int feed_part(void *state, const struct rec *r)
{
	static const struct site_base none;
	struct heap_view_state *v = state;

	if (r->kind != REC_HEAP_SITE)
		return feed_sums(v, r);
	return v->sums.by & BY_STACK ? heap_view_site_add(v, (const struct heap_site *)r, &none)
				     : 0;
}

static int threads_add(struct heap_view_state *v)
{
	for (size_t i = 0; i < v->threads.n; i++) {
		const struct thread_state *at = groups_value(&v->threads, i);
		struct heap_sums *s = heap_view_sums_of(
			v, at->now.process, at->now.tgid, at->now.tid, at->now.comm, 0);

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
		struct heap_sums *s =
			heap_view_sums_of(v, at->now.process, at->now.tgid, 0, NULL, 0);

		if (!s)
			return -ENOMEM;
		ADD_COMMON(s, &at->now, &at->base);
		ADD_PEAK(s, &at->now, &at->base);
	}
	return 0;
}

static bool is_sampled(const struct heap_view_state *v)
{
	bool is = false;

	for (size_t i = 0; i < v->totals.n; i++) {
		const struct total_state *at = groups_value(&v->totals, i);

		is |= at->now.h.flags & HEAP_SAMPLED;
	}
	return is;
}

static int heap_view_rows_add(struct heap_view_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->sums, r, "heap",
		v->sums.by & BY_STACK    ? "Heap by stack"
		: v->sums.by & BY_THREAD ? "Heap by thread"
					 : "Heap");

	if (!t)
		return -ENOMEM;
	t->empty = v->replay && !event_replay_has(v->replay) ? "Not recorded."
							     : "Nothing was allocated.";
	t->sort = v->sums.by & BY_THREAD ? "allocated_bytes" : "peak_bytes";
	if (!is_sampled(v)) /* errors are COL_RARE */
		table_keep(t, r);
	return by_sums_rows(&v->sums, r, t, NULL);
}

/* What a reader must know. */
static void heap_view_notes_add(struct heap_view_state *v, struct report *r)
{
	u32 attached = 0; /* one of them */

	for (size_t i = 0; i < v->totals.n; i++) {
		const struct total_state *at = groups_value(&v->totals, i);

		if (at->now.h.flags & HEAP_ATTACHED && !(at->now.h.flags & HEAP_WHOLE))
			attached = at->now.tgid;
	}
	heap_attached_tell(r, attached);
	if (is_sampled(v))
		report_note(r, "numbers are estimates: allocations were sampled by bytes "
			       "(--sample)");
	if (v->sums.by & BY_STACK && v->sums.by & BY_THREAD)
		report_note(r, "allocations of a stack are known by process, not by thread");
}

static int processes_add(struct heap_view_state *v, struct report *r)
{
	struct table *t = heap_process_table(r);
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "peak_bytes";
	for (size_t i = 0; i < v->totals.n && !rc; i++) {
		const struct total_state *at = groups_value(&v->totals, i);

		rc = heap_process_row(
			t, r, &at->now, heap_mapped_find(&v->mappings, at->now.process));
	}
	return rc;
}

static int by_peak(const void *a, const void *b)
{
	const struct total_state *const *x = a, *const *y = b;

	return (*x)->now.peak_bytes < (*y)->now.peak_bytes   ? 1
	       : (*x)->now.peak_bytes > (*y)->now.peak_bytes ? -1
							     : 0;
}

/* Of the process with the highest peak first, each in the order of time. */
static int heap_view_growth_add(struct heap_view_state *v, struct report *r)
{
	struct table *t = heap_growth_table(r);
	size_t n = v->totals.n;
	_cleanup_free_ const struct total_state **all = calloc(n + 1, sizeof(*all));
	int rc = t && all ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		all[i] = groups_value(&v->totals, i);
	if (n && !rc)
		qsort(all, n, sizeof(*all), by_peak);
	for (size_t i = 0; i < n && !rc; i++)
		rc = heap_growth_rows(t, r, &all[i]->growth, &all[i]->now);
	return rc;
}

static int tree_add(struct heap_view_state *v, struct report *r)
{
	_cleanup_free_ const struct heap_total **all = calloc(v->totals.n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < v->totals.n; i++) {
		const struct total_state *at = groups_value(&v->totals, i);

		all[i] = &at->now;
	}
	return heap_tree_add(r, all, v->totals.n, v->together.h.kind ? &v->together : NULL);
}

static int heap_view_report(void *state, struct report *r)
{
	struct heap_view_state *v = state;
	int rc;

	groups_clear(&v->sums.groups);
	rc = v->replay ? event_replay_report(v->replay) : 0;
	if (rc)
		return rc;
	if (v->replay)
		heap_part_tell(v->replay, v->from_ns, v->to_ns, r);
	if (v->sums.by & BY_STACK)
		rc = sites_add(v);
	else if (v->sums.by & BY_THREAD)
		rc = threads_add(v);
	else
		rc = totals_add(v);
	heap_view_notes_add(v, r);
	rc = rc ? rc : heap_view_rows_add(v, r);
	rc = rc ? rc : heap_mappings_report(&v->mappings, r, total_of, v);
	rc = rc ? rc : heap_residences_report(&v->residences, r, total_of, v);
	rc = rc ? rc : processes_add(v, r);
	rc = rc ? rc : tree_add(v, r);
	return rc ? rc : heap_view_growth_add(v, r);
}

static void heap_view_reset(void *state)
{
	struct heap_view_state *v = state;

	for (size_t i = 0; i < v->sites.n; i++) {
		struct site_state *at = groups_value(&v->sites, i);

		at->base.allocations = at->now.allocations;
		at->base.bytes = at->now.bytes;
		at->base.frees = at->now.frees;
		at->base.temporary = at->now.temporary;
		at->base.moved = at->now.moved;
		at->base.slack_bytes = at->now.slack_bytes;
		at->base.life_ms = at->now.life_ms;
	}
	for (size_t i = 0; i < v->threads.n; i++) {
		struct thread_state *at = groups_value(&v->threads, i);

		at->base = at->now;
	}
	for (size_t i = 0; i < v->totals.n; i++) {
		struct total_state *at = groups_value(&v->totals, i);

		at->base = at->now;
		heap_growth_reset(&at->growth);
	}
	heap_mappings_reset(&v->mappings);
	heap_residences_reset(&v->residences);
}

static void heap_view_destroy(void *state)
{
	struct heap_view_state *v = state;

	by_sums_free(&v->sums);
	groups_free(&v->sites);
	groups_free(&v->threads);
	groups_free(&v->totals);
	heap_mappings_free(&v->mappings);
	heap_residences_free(&v->residences);
	event_replay_close(v->replay);
}

static const struct view_table *const tables[] = {heap_sum_tables, heap_mapping_tables,
	heap_residence_tables, heap_process_tables, heap_tree_tables, heap_growth_tables, NULL};

static bool heap_remembers(const void *state)
{
	(void)state;
	return true;
}

const struct view heap_view = {
	.size = sizeof(struct heap_view_state),
	.by_default = "stack",
	.by_keys = by_keys,
	.parts_with = " --events -- CMD",
	.tables = tables,
	.init = heap_view_init,
	.feed = heap_view_feed,
	.report = heap_view_report,
	.reset = heap_view_reset,
	.levels = true,
	.remembers = heap_remembers,
	.destroy = heap_view_destroy,
};
