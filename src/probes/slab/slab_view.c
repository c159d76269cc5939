/* Slab allocations as tables: caches, call sites by the keys of --by, and what stands beside. */
#include "probes/slab/slab_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/frame.h"
#include "analysis/gfp.h"
#include "base/clock.h"
#include "base/units.h"
#include "probes/slab/slab_tables.h"

enum {
	BY_CACHE = BY_OWN,
	BY_SITE = BY_OWN << 1,
	BY_GFP = BY_OWN << 2,
	BY_NODE = BY_OWN << 3,
	BY_LIVE = BY_OWN << 4,
};

static const char *const by_keys[] = {BY_TASK_KEYS, "cache", "site", "gfp", "node", "live", NULL};

struct key {
	struct by_task_key task;
	u32 site, gfp;
	s32 node;
	u32 large;
	char cache[AGG_NAME_LEN];
};

/* Are all objects of a row of one size? */
struct sizes {
	u64 n, requested, squares; /* of kmalloc; squares modulo 2^64 */
	u32 bytes;                 /* allocated to each; 0: none yet */
	bool mixed;
};

struct sums {
	struct slab_sums slab;
	struct sizes sizes;
};

enum {
	C_CACHE = BY_C_OWN,
	C_SITE,
	C_GFP,
	C_NODE,
	C_LIVE,
	C_LIVE_BYTES,
	C_ALLOCATIONS,
	C_FREES,
	C_BEFORE,
	C_RATE,
	C_FAILED,
	C_REQUESTED,
	C_ALLOCATED,
	C_WASTE,
	C_WASTE_RATIO,
	C_SIZE,
	C_SLOT,
	C_SAVED,
	C_CHARGED,
	C_UNTRACKED,
	C_STACK,
	C_N,
};

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_CACHE] = {BY_CACHE,
		{"cache", "CACHE", CELL_TEXT, UNIT_NONE, 0, "slab cache; large: whole pages"}},
	[C_SITE] = {BY_SITE, {"site", "CALL SITE", CELL_TEXT, UNIT_NONE, 0,
				     "kernel code that called the allocator"}},
	[C_GFP] = {BY_GFP, {"gfp", "GFP", CELL_TEXT, UNIT_NONE, 0, "flags of the allocations"}},
	[C_NODE] = {BY_NODE,
		{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node asked for; none: any"}},
	[C_ALLOCATIONS] = {0, {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
				      "objects allocated (exact)"}},
	[C_FREES] = {0,
		{"frees", "FREES", CELL_U64, UNIT_COUNT, 0, "objects freed from here (exact)"}},
	[C_RATE] = {0, {"allocations_per_s", "ALLOCS/s", CELL_F64, UNIT_COUNT, COL_WIDE,
			       "allocations / the interval"}},
	[C_FAILED] = {0,
		{"failed", "FAILED", CELL_U64, UNIT_COUNT, COL_WIDE, "allocations that failed"}},
	[C_REQUESTED] = {0, {"requested_bytes", "REQUESTED", CELL_U64, UNIT_BYTES, COL_WIDE,
				    "asked for; of a cache, its object size without padding"}},
	[C_ALLOCATED] = {0, {"allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES, 0,
				    "given, with padding up to the next object"}},
	[C_WASTE] = {0, {"waste_bytes", "WASTE", CELL_U64, UNIT_BYTES, 0,
				"allocated - requested: internal fragmentation"}},
	[C_WASTE_RATIO] = {0,
		{"waste_ratio", "WASTE%", CELL_F64, UNIT_RATIO, 0, "waste / allocated bytes"}},
	[C_SIZE] = {0, {"size_bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_LEVEL,
			       "asked for each time; none: it varies"}},
	[C_SLOT] = {0, {"class_bytes", "CLASS", CELL_U64, UNIT_BYTES, COL_LEVEL,
			       "allocated each time: the size class; none: it varies"}},
	[C_SAVED] = {0, {"saved_ratio", "SAVED%", CELL_F64, UNIT_RATIO, 0,
				"what a cache for objects of that size would save of the size "
				"class"}},
	[C_CHARGED] = {0, {"charged_ratio", "CHARGED", CELL_F64, UNIT_RATIO, COL_WIDE,
				  "of the allocations, charged to a control group"}},
	[C_BEFORE] = {BY_LIVE, {"untracked_frees", "OLD FREES", CELL_U64, UNIT_COUNT, 0,
				       "of the frees, of objects allocated before the start or "
				       "not tracked"}},
	[C_LIVE] = {BY_LIVE, {"live_objects", "LIVE", CELL_U64, UNIT_COUNT, COL_LEVEL,
				     "allocated here since the start and not freed"}},
	[C_LIVE_BYTES] = {BY_LIVE, {"live_bytes", "LIVE BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL,
					   "allocated to those"}},
	[C_UNTRACKED] = {BY_LIVE, {"untracked", "UNTRACKED", CELL_U64, UNIT_COUNT, COL_WIDE,
					  "allocations since the start for which the table of "
					  "objects had no room: not in LIVE"}},
	[C_STACK] = {BY_STACK, {"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path"}},
};

static const struct by_spec spec = BY_SPEC(columns, struct key, struct sums);

struct slab_state {
	bool top;
	struct by_sums sums;
	struct groups live; /* as sums.groups; since the start */
	struct slab_tables tables;
};

static int operand_parse(struct slab_state *v, const struct view_options *o, struct err *err)
{
	if (!o->n_operands)
		return 0;
	v->top = !strcmp(o->operands[0], "top");
	if (v->top)
		return 0;
	err_set(err, -EINVAL, "slab: '%.40s' is not expected here", o->operands[0]);
	return err_hint(err, "'memwhy slab top' refreshes the busiest caches");
}

static int slab_init(void *state, const struct view_options *o, struct err *err)
{
	struct slab_state *v = state;
	struct view_options with = *o;
	int rc = operand_parse(v, o, err);

	if (o->by && !strcmp(o->by, "live"))
		with.by = "cache,site,live";
	if (!rc)
		rc = by_sums_init(&v->sums, &spec, &slab_view, &with, err);
	if (rc)
		return rc;
	groups_init(&v->live, sizeof(struct key), sizeof(struct slab_live));
	slab_tables_init(&v->tables, v->sums.by & BY_LIVE);
	return 0;
}

static u64 slab_every(const struct view_options *o)
{
	return o->n_operands ? NSEC_PER_SEC : 0;
}

static struct key key_of(u32 by, const struct slab_agg *r)
{
	struct key k = {.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};

	if (by & BY_CACHE) {
		memcpy(k.cache, r->cache, strnlen(r->cache, sizeof(k.cache) - 1));
		k.large = !k.cache[0] && r->flags & SLAB_LARGE;
	}
	if (by & BY_SITE)
		k.site = r->site;
	if (by & BY_GFP)
		k.gfp = r->gfp;
	if (by & BY_NODE)
		k.node = r->node;
	return k;
}

static void sizes_add(struct sizes *s, const struct slab_agg *r)
{
	if (r->event >= SLAB_KFREE || r->flags & SLAB_NOTHING || !r->count)
		return;
	s->mixed |= s->bytes && s->bytes != r->bytes;
	s->bytes = r->bytes;
	if (r->object_bytes) { /* of a cache: as large as that says */
		s->n += r->count;
		s->requested += r->count * r->object_bytes;
		s->squares += r->count * r->object_bytes * r->object_bytes;
		return;
	}
	s->n += r->count;
	s->requested += r->requested;
	s->squares += r->squares;
}

/* By Cauchy and Schwarz only numbers that are all equal have n * sum of squares = sum squared.
 * Modulo 2^64 that proves nothing for sums of large numbers, so those pass as not known. */
static u64 sizes_same(const struct sizes *s)
{
	u64 size = s->n ? s->requested / s->n : 0;

	if (s->mixed || !s->n || s->requested % s->n || size > 65536 || s->n > 1ULL << 31)
		return 0;
	return s->squares == s->n * size * size ? size : 0;
}

#define CLASS_MAX 8192 /* KMALLOC_MAX_CACHE_SIZE on x86-64: beyond are pages */
#define CACHE_ALIGN 8

/* What a cache of its own would save of each object; 0: nothing, or it has one. */
static u64 saved_each(const struct sizes *s, const char *cache)
{
	u64 size = sizes_same(s), slot = (size + CACHE_ALIGN - 1) & ~(CACHE_ALIGN - 1ULL);

	if (!size || s->bytes > CLASS_MAX || !strstr(cache, "kmalloc-"))
		return 0;
	return s->bytes > slot ? s->bytes - slot : 0;
}

static int agg_feed(struct slab_state *v, const struct slab_agg *r)
{
	struct key k = key_of(v->sums.by, r);
	struct sums *s;
	struct slab_live *l;

	if (r->event >= SLAB_EVENT_N || v->top)
		return 0;
	s = groups_get(&v->sums.groups, &k);
	if (!s)
		return -ENOMEM;
	slab_sums_add(&s->slab, r);
	sizes_add(&s->sizes, r);
	if (!(v->sums.by & BY_LIVE))
		return 0;
	l = groups_get(&v->live, &k);
	if (!l)
		return -ENOMEM;
	slab_live_add(l, r);
	return 0;
}

static int slab_feed(void *state, const struct rec *r)
{
	struct slab_state *v = state;
	int rc = r->kind == REC_SLAB_AGG ? agg_feed(v, (const struct slab_agg *)r) : 0;

	return rc ? rc : slab_tables_feed(&v->tables, r);
}

static const char *site_name(struct report *r, u32 frame)
{
	const char *text = frame_text(r, frame);

	return text ? text : NO_SYMBOL;
}

static const char *cache_text(struct report *r, const struct key *k)
{
	if (k->cache[0])
		return report_text(r, "%.31s", k->cache);
	return k->large ? "(large)" : "(not known)";
}

static void live_fill(struct cell all[C_N], const struct slab_live *l, const struct sums *s)
{
	all[C_BEFORE] = cell_u64(s->slab.untracked_frees);
	all[C_LIVE] = slab_live_cell(l ? l->objects : 0);
	all[C_LIVE_BYTES] = slab_live_cell(l ? l->bytes : 0);
	all[C_UNTRACKED] = cell_u64(l ? l->untracked : 0);
}

static void row_fill(struct cell all[C_N], struct slab_state *v, struct report *r,
	const struct key *k, const struct sums *s)
{
	double seconds = (double)stream_interval_ns(r->stream) / 1e9;
	u64 size = sizes_same(&s->sizes), saved = saved_each(&s->sizes, k->cache);

	by_task_cells(r, v->sums.by, &k->task, all);
	all[C_CACHE] = cell_text(cache_text(r, k));
	all[C_SITE] = cell_text(site_name(r, k->site));
	all[C_GFP] = s->slab.allocations ? cell_text(gfp_text(r, k->gfp)) : (struct cell){};
	all[C_NODE] = k->node < 0 ? (struct cell){} : cell_u64((u64)k->node);
	all[C_ALLOCATIONS] = cell_u64(s->slab.allocations);
	all[C_FREES] = cell_u64(s->slab.frees);
	if (seconds > 0)
		all[C_RATE] = cell_f64((double)s->slab.allocations / seconds);
	all[C_FAILED] = cell_u64(s->slab.failed);
	all[C_REQUESTED] = cell_u64(s->slab.requested_bytes);
	all[C_ALLOCATED] = cell_u64(s->slab.allocated_bytes);
	all[C_WASTE] = slab_waste(&s->slab);
	all[C_WASTE_RATIO] = slab_waste_ratio(&s->slab);
	all[C_SIZE] = size ? cell_u64(size) : (struct cell){};
	if (s->sizes.bytes && !s->sizes.mixed)
		all[C_SLOT] = cell_u64(s->sizes.bytes);
	if (saved)
		all[C_SAVED] = cell_f64((double)saved / (double)s->sizes.bytes);
	if (s->slab.allocations)
		all[C_CHARGED] = cell_f64((double)s->slab.charged / (double)s->slab.allocations);
	live_fill(all, groups_find(&v->live, k), s);
	all[C_STACK] = cell_stack(k->task.stack);
}

/* Objects that live on have a row also where the interval had no event of theirs. */
static int live_complete(struct slab_state *v)
{
	for (size_t i = 0; i < v->live.n; i++) {
		const struct slab_live *l = groups_value(&v->live, i);

		if (l->objects && !groups_get(&v->sums.groups, groups_key(&v->live, i)))
			return -ENOMEM;
	}
	return 0;
}

#define DEDICATED_MIN (1U << 20) /* bytes that must be saved for a cache to be worth it */
#define DEDICATED_NOTES 3
#define DEDICATED_SLAB 32768 /* a slab of a new cache, at most */

/* A cache of its own pays when it saves more than the slabs that each CPU then keeps. */
static bool dedicated_tell(
	struct report *r, const struct key *k, const struct sums *s, const struct slab_live *l)
{
	u64 each = saved_each(&s->sizes, k->cache), saved = (u64)l->objects * each;
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];
	u64 cost = (u64)r->stream->host.cpus * DEDICATED_SLAB;

	if (l->objects <= 0 || saved < DEDICATED_MIN || saved < 2 * cost ||
		each * 5 < s->sizes.bytes)
		return false;
	report_note(r,
		"A cache of its own is justified for %s: %lld live objects of %llu bytes "
		"lie in slots of %u (%s): it would save %s (%.0f%%) and cost at most %s in slabs "
		"that CPUs hold.",
		site_name(r, k->site), l->objects, sizes_same(&s->sizes), s->sizes.bytes,
		fmt_bytes(a, (u64)l->bytes), fmt_bytes(b, saved),
		100.0 * (double)each / (double)s->sizes.bytes, fmt_bytes(c, cost));
	return true;
}

static void dedicated_report(struct slab_state *v, struct report *r)
{
	u32 wanted = BY_CACHE | BY_SITE | BY_LIVE, told = 0;

	if ((v->sums.by & wanted) != wanted)
		return;
	for (size_t i = 0; i < v->live.n && told < DEDICATED_NOTES; i++) {
		const struct key *k = groups_key(&v->live, i);
		const struct sums *s = groups_find(&v->sums.groups, k);

		if (s)
			told += dedicated_tell(r, k, s, groups_value(&v->live, i));
	}
}

static int sites_report(struct slab_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->sums, r, "sites", "Call sites");
	const struct groups *g = &v->sums.groups;
	int rc = t ? live_complete(v) : -ENOMEM;

	for (size_t i = 0; !rc && i < g->n; i++) {
		struct cell all[C_N] = {};

		row_fill(all, v, r, groups_key(g, i), groups_value(g, i));
		rc = by_sums_row(&v->sums, t, all);
	}
	if (rc)
		return rc;
	t->sort = v->sums.by & BY_LIVE ? "live_bytes" : "allocated_bytes";
	dedicated_report(v, r);
	return 0;
}

static int slab_report(void *state, struct report *r)
{
	struct slab_state *v = state;
	int rc = slab_caches_report(&v->tables, r);

	if (rc || v->top)
		return rc;
	rc = sites_report(v, r);
	return rc ? rc : slab_tables_report(&v->tables, r);
}

static void slab_reset(void *state)
{
	struct slab_state *v = state;

	groups_clear(&v->sums.groups);
	slab_tables_reset(&v->tables);
}

/* Objects live longer than the task that made them. */
static bool slab_remembers(const void *state)
{
	return ((const struct slab_state *)state)->sums.by & BY_LIVE;
}

static void slab_destroy(void *state)
{
	struct slab_state *v = state;

	by_sums_free(&v->sums);
	groups_free(&v->live);
	slab_tables_free(&v->tables);
}

static const struct view_table tables[] = {
	{"sites", &columns[0].col, C_N, sizeof(columns[0])},
	{},
};

const struct view slab_view = {
	.tables = (const struct view_table *const[]){slab_side_tables, tables, NULL},
	.size = sizeof(struct slab_state),
	.by_default = "cache,site",
	.by_keys = by_keys,
	.every_ns = slab_every,
	.init = slab_init,
	.feed = slab_feed,
	.report = slab_report,
	.reset = slab_reset,
	.remembers = slab_remembers,
	.destroy = slab_destroy,
};
