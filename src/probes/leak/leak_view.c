/* See leak_view.h: what is outstanding, by the keys of --by, and what to make of it. */
#include "probes/leak/leak_view.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/leak/leak_feed.h"

static const char *const by_keys[] = {BY_TASK_KEYS, "cache", "site", NULL};

static bool is_pages(const struct row_of *row)
{
	return ((const struct leak_key *)row->key)->cache.kind == LEAK_PAGES;
}

static CELL_GET(cache_cell)
{
	return cell_text(leak_cache_text(r, &((const struct leak_key *)row->key)->cache));
}

static CELL_GET(order_cell)
{
	return is_pages(row) ? cell_u64(((const struct leak_key *)row->key)->order)
			     : (struct cell){};
}

static CELL_GET(site_cell)
{
	return cell_text(leak_site_text(r, row->key));
}

static CELL_GET(kind_cell)
{
	return cell_text(is_pages(row) ? "pages" : "objects");
}

#define SITE(member_, title_, help_) \
	CELL_NUMBER(struct leak_site, member_, #member_, title_, UNIT_COUNT, 0, help_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_BY(BY_CACHE, "cache", "CACHE", CELL_TEXT, UNIT_NONE, 0,
		"slab cache; (large): kmalloc of whole pages; (pages): pages the kernel took for "
		"itself",
		cache_cell),
	CELL_BY(BY_CACHE, "order", "ORDER", CELL_U64, UNIT_ID, COL_WIDE,
		"of pages: 2^order of them each", order_cell),
	CELL_BY(BY_SITE, "site", "CALL SITE", CELL_TEXT, UNIT_NONE, 0,
		"kernel code that called the allocator; of pages, the first behind the page "
		"allocator (with stacks)",
		site_cell),
	CELL_FROM(0, struct leak_site, objects, "objects", "LIVE", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"allocated here since the start and not freed (exact)", leak_live_cell),
	CELL_FROM(0, struct leak_site, bytes, "bytes", "BYTES", CELL_U64, UNIT_BYTES,
		COL_WEIGHT | COL_LEVEL, "allocated to those", leak_live_cell),
	LEAK_CELL_NOW,
	SITE(allocated, "ALLOCS", "allocated in the interval"),
	SITE(freed, "FREED", "freed in the interval, of what was allocated since the start"),
	LEAK_CELL_OLD,
	LEAK_CELL_STAYED,
	LEAK_CELL_VERDICT,
	LEAK_CELL_OUTLIVED,
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, "slab objects, or pages",
		kind_cell),
	LEAK_CELLS_TREND,
	LEAK_CELL_AGE_P50,
	LEAK_CELL_AGE_MAX,
	LEAK_CELL_AGES,
	LEAK_CELL(life_p50, "p50_ns", "LIFE P50", CELL_U64, UNIT_NS, COL_WIDE,
		"median lifetime of those freed since the start (of objects: of one in eight; "
		"estimated from a log2 histogram)"),
	LEAK_CELL_LIFE_P99,
	LEAK_CELL_LIFE_MAX,
	LEAK_CELL(lives, "hist", "LIFETIMES", CELL_HIST, UNIT_NS, COL_WIDE,
		"log2 histogram of the lifetimes, from 512 ns on"),
	CELL_NUMBER(struct leak_site, untracked, "untracked", "UNTRACKED", UNIT_COUNT, COL_WIDE,
		"allocations since the start for which the table had no room: not in LIVE"),
	BY_STACK_CELLS("code path of the allocation"),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct leak_key, struct leak_site);

static int leak_init(void *state, const struct view_options *o, struct err *err)
{
	struct leak_state *v = state;
	int rc = by_sums_init(&v->sums, &spec, &leak_view, o, err);

	leak_feed_init(v);
	leak_caches_init(&v->caches);
	return rc;
}

static int leak_view_feed(void *state, const struct rec *r)
{
	return leak_feed(state, r);
}

/* Of what was there when the look's `old` began, how much is still. Below 0: not known. */
static double leak_view_stayed(
	const struct leak_state *v, const struct leak_key *k, const struct leak_site *s)
{
	const struct leak_look *l = k->cache.kind == LEAK_PAGES ? &v->pages : &v->objects;
	s64 then;

	if (!l->old_ns || l->time_ns < l->old_ns)
		return -1;
	then = leak_series_at(&s->series, &v->clock, l->time_ns - l->old_ns);
	if (then <= 0)
		return -1;
	return MIN(1.0, (double)s->old_bytes / (double)then);
}

/* Is it not there as a whole? Objects from before the start went, or frees were not seen. */
static bool is_contradicted(
	const struct leak_state *v, const struct leak_key *k, const struct leak_site *s)
{
	s64 grown;

	if (!(v->sums.by & BY_CACHE) || k->cache.kind == LEAK_PAGES)
		return false;
	return leak_cache_grown(&v->caches, &k->cache, &grown) && grown < (s64)s->objects / 2;
}

static struct leak_suspect leak_view_judge(const struct leak_state *v, const struct report *r,
	const struct leak_key *k, const struct leak_site *s)
{
	struct leak_suspect x = {.key = k, .site = s, .stayed = leak_view_stayed(v, k, s)};
	struct leak_counts n = {
		.live = (s64)s->objects > 0 ? s->objects : 0,
		.allocated = s->all_allocated,
		.freed = s->all_freed,
	};

	leak_judge(&s->series, &v->clock, &n, &x.judged);
	if (leak_is_slab_pages(r, k))
		x.judged.verdict = LEAK_SLABS;
	else if (x.judged.verdict != LEAK_STEADY)
		return x;
	else if (x.stayed >= 0 && x.stayed < 0.5)
		x.judged.verdict = LEAK_RENEWED;
	else if (is_contradicted(v, k, s))
		x.judged.verdict = LEAK_CONTRADICTED;
	return x;
}

static int leak_view_row_add(
	const struct leak_state *v, struct report *r, struct table *t, const struct leak_suspect *x)
{
	const struct leak_site *s = x->site;
	struct leak_cells c;

	leak_cells_fill(&c, r, &x->judged, x->stayed,
		&(struct leak_ages){&s->ages, &s->lives, s->old, s->oldest_ns});
	return by_sums_row(&v->sums, r, t, x->key, s, &c);
}

/* What makes the numbers less than all, and what they leave out. */
static void follow_tell(const struct leak_state *v, struct report *r, u64 gone, u64 in_slabs)
{
	const struct pages_follow *p = &v->caches.pages, *before = &v->caches.pages_before;
	char buf[UNIT_BUF];
	u64 untracked = 0;

	for (size_t i = 0; i < v->caches.sums.n; i++) {
		const struct leak_cache_key *k = groups_key(&v->caches.sums, i);
		const struct leak_cache *c = groups_value(&v->caches.sums, i);

		untracked += k->kind == LEAK_PAGES ? 0 : c->untracked;
	}
	if (untracked)
		report_note(r,
			"%llu objects were not followed: there is room for %llu at a time; a "
			"narrower scope (-p, -c, -g) helps",
			untracked, v->follow.room);
	if (p->untracked)
		report_note(r, "%llu page allocations were not followed: there is room for %llu",
			p->untracked, p->room);
	if (p->parts > before->parts)
		report_note(r,
			"%llu page allocations were freed in parts: they count as freed when the "
			"first part was",
			p->parts - before->parts);
	if (v->follow.lifetimes_full + p->lifetimes_full)
		report_note(r, "%llu lifetimes found no room in their table",
			v->follow.lifetimes_full + p->lifetimes_full);
	if (in_slabs)
		report_note(r,
			"%s of pages were taken for slabs: their objects are counted by themselves",
			fmt_bytes(buf, in_slabs));
	if (gone)
		report_note(r, "%llu other sites have nothing outstanding", gone);
}

/* Frees that no event told, by what the caches as a whole have. */
static void unseen_tell(const struct leak_state *v, struct report *r)
{
	u64 unseen = 0, caches = 0;

	for (size_t i = 0; i < v->caches.sums.n && !v->scoped; i++) {
		u64 n = leak_cache_unseen(&v->caches, groups_key(&v->caches.sums, i));

		unseen += n;
		caches += n != 0;
	}
	if (unseen)
		report_note(r,
			"Some %llu objects of %llu caches are outstanding that are not there "
			"(/proc/slabinfo): their frees were not seen, see UNSEEN of the caches",
			unseen, caches);
}

struct suspects {
	VEC(struct leak_suspect) v;
	u64 gone, in_slabs;
};

static int sites_report(
	const struct leak_state *v, struct report *r, struct table *t, struct suspects *s)
{
	const struct groups *g = &v->sums.groups;
	int rc = 0;

	for (size_t i = 0; i < g->n && !rc; i++) {
		struct leak_suspect x = leak_view_judge(v, r, groups_key(g, i), groups_value(g, i));

		if (!x.site->objects) {
			s->gone++;
			continue;
		}
		s->in_slabs += x.judged.verdict == LEAK_SLABS ? x.site->bytes : 0;
		if (x.judged.verdict == LEAK_STEADY)
			rc = vec_push(&s->v, x);
		rc = rc ? rc : leak_view_row_add(v, r, t, &x);
	}
	return rc;
}

static int kernel_report(struct leak_state *v, struct report *r)
{
	struct table *t =
		by_sums_table(&v->sums, r, "sites", "Allocated since the start, not freed");
	u64 ns = v->clock.last_ns - v->clock.begin_ns;
	struct suspects s = {};
	int rc = t ? sites_report(v, r, t, &s) : -ENOMEM;

	if (!rc)
		rc = leak_caches_report(&v->caches, v->scoped, r);
	if (!rc) {
		t->sort = ns < LEAK_SHORTEST_NS ? "bytes" : "growth_bytes_per_s";
		t->empty = "Nothing that was allocated in scope is outstanding.";
		leak_suspects_report(r, &v->caches, &v->memory, s.v.v, s.v.n);
		unseen_tell(v, r);
		follow_tell(v, r, s.gone, s.in_slabs);
	}
	if (!rc && t->n_rows && ns < LEAK_SHORTEST_NS)
		report_next(r, "Too short to tell a leak: `memwhy leak --kernel --for 60s`");
	vec_free(&s.v);
	return rc;
}

/* What was looked at; nothing yet: both, for their columns. */
static int leak_report(void *state, struct report *r)
{
	const struct stream *s = r->stream;
	bool heap = stream_probe_active(s, "heap"),
	     kernel = stream_probe_active(s, "slab") || stream_probe_active(s, "pages");
	struct leak_state *v = state;
	int rc = kernel || !heap ? kernel_report(v, r) : 0;

	if (rc || (kernel && !heap))
		return rc;
	return leak_heap_report(&v->heap, !strcmp(s->session.command, "leak"), r);
}

static void leak_reset(void *state)
{
	struct leak_state *v = state;

	for (size_t i = 0; i < v->sums.groups.n; i++) {
		struct leak_site *s = groups_value(&v->sums.groups, i);

		s->allocated = s->freed = 0;
	}
	leak_caches_reset(&v->caches);
	leak_heap_reset(&v->heap);
}

static void leak_destroy(void *state)
{
	struct leak_state *v = state;

	by_sums_free(&v->sums);
	groups_free(&v->tasks);
	leak_caches_free(&v->caches);
	leak_heap_free(&v->heap);
}

static const struct view_table tables[] = {
	CELLS_VIEW("sites", columns),
	{},
};

static bool leak_remembers(const void *state)
{
	(void)state;
	return true;
}

const struct view leak_view = {
	.tables = (const struct view_table *const[]){tables, leak_cache_tables, leak_heap_tables,
		leak_mapping_tables, NULL},
	.size = sizeof(struct leak_state),
	.by_default = "cache,site,stack",
	.stacks_default = "kernel",
	.by_keys = by_keys,
	.init = leak_init,
	.feed = leak_view_feed,
	.report = leak_report,
	.reset = leak_reset,
	.levels = true,
	.remembers = leak_remembers,
	.destroy = leak_destroy,
};
