/* Slab allocations as tables: caches, call sites by the keys of --by, and what stands beside. */
#include "probes/slab/slab_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/frame_text.h"
#include "analysis/gfp_text.h"
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
	struct slab_sums slab; /* first, for the cells that caches have too */
	struct sizes sizes;
};

struct slab_state {
	bool top;
	struct by_sums sums;
	struct groups live; /* as sums.groups; since the start */
	struct slab_tables tables;
};

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

static const char *site_name(struct report *r, u32 frame)
{
	const char *text = frame_text(r, frame);

	return text ? text : NO_SYMBOL;
}

static CELL_GET(cache_cell)
{
	const struct key *k = row->key;

	return slab_cache_cell(r, k->cache, k->large);
}

static CELL_GET(site_cell)
{
	return cell_text(site_name(r, ((const struct key *)row->key)->site));
}

/* Frees have no flags. */
static CELL_GET(flags_cell)
{
	const struct sums *s = row->sums;

	return s->slab.allocations ? gfp_cell(r, row, offset) : (struct cell){};
}

static CELL_GET(size_cell)
{
	u64 size = sizes_same(&((const struct sums *)row->sums)->sizes);

	return size ? cell_u64(size) : (struct cell){};
}

static CELL_GET(class_cell)
{
	const struct sizes *z = &((const struct sums *)row->sums)->sizes;

	return z->bytes && !z->mixed ? cell_u64(z->bytes) : (struct cell){};
}

static CELL_GET(saved_cell)
{
	const struct sums *s = row->sums;
	u64 saved = saved_each(&s->sizes, ((const struct key *)row->key)->cache);

	return saved ? cell_ratio(saved, s->sizes.bytes) : (struct cell){};
}

static const struct slab_live *live_of(const struct row_of *row)
{
	static const struct slab_live none;
	const struct slab_live *l =
		groups_find(&((const struct slab_state *)row->view)->live, row->key);

	return l ? l : &none;
}

static CELL_GET(live_cell)
{
	return slab_live_cell(*(const s64 *)((const char *)live_of(row) + offset));
}

static CELL_GET(untracked_cell)
{
	return cell_u64(live_of(row)->untracked);
}

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_BY(BY_CACHE, "cache", "CACHE", CELL_TEXT, UNIT_NONE, 0,
		"slab cache; large: whole pages", cache_cell),
	CELL_BY(BY_SITE, "site", "CALL SITE", CELL_TEXT, UNIT_NONE, 0,
		"kernel code that called the allocator", site_cell),
	CELL_FROM(BY_GFP, struct key, gfp, "gfp", "GFP", CELL_TEXT, UNIT_NONE, 0,
		"flags of the allocations", flags_cell),
	CELL_FROM(BY_NODE, struct key, node, "node", "NODE", CELL_U64, UNIT_ID, 0,
		"NUMA node asked for; none: any", cell_of_node),
	CELL_FROM(BY_LIVE, struct slab_live, objects, "live_objects", "LIVE", CELL_U64, UNIT_COUNT,
		COL_LEVEL, "allocated here since the start and not freed", live_cell),
	CELL_FROM(BY_LIVE, struct slab_live, bytes, "live_bytes", "LIVE BYTES", CELL_U64,
		UNIT_BYTES, COL_LEVEL, "allocated to those", live_cell),
	CELL_NUMBER(struct sums, slab.allocations, "allocations", "ALLOCS", UNIT_COUNT, COL_WEIGHT,
		"objects allocated (exact)"),
	CELL_NUMBER(struct sums, slab.frees, "frees", "FREES", UNIT_COUNT, 0,
		"objects freed from here (exact)"),
	CELL_FROM(BY_LIVE, struct sums, slab.untracked_frees, "untracked_frees", "OLD FREES",
		CELL_U64, UNIT_COUNT, 0,
		"of the frees, of objects allocated before the start or not tracked", cell_of_u64),
	CELL_BY(0, "allocations_per_s", "ALLOCS/s", CELL_F64, UNIT_COUNT, COL_WIDE,
		"allocations / the interval", slab_rate_cell),
	CELL_NUMBER(struct sums, slab.failed, "failed", "FAILED", UNIT_COUNT, COL_WIDE,
		"allocations that failed"),
	CELL_NUMBER(struct sums, slab.requested_bytes, "requested_bytes", "REQUESTED", UNIT_BYTES,
		COL_WIDE, "asked for; of a cache, its object size without padding"),
	CELL_NUMBER(struct sums, slab.allocated_bytes, "allocated_bytes", "ALLOCATED", UNIT_BYTES,
		0, "given, with padding up to the next object"),
	CELL_BY(0, "waste_bytes", "WASTE", CELL_U64, UNIT_BYTES, 0,
		"allocated - requested: internal fragmentation", slab_waste_cell),
	CELL_BY(0, "waste_ratio", "WASTE%", CELL_F64, UNIT_RATIO, 0, "waste / allocated bytes",
		slab_waste_ratio_cell),
	CELL_BY(0, "size_bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"asked for each time; none: it varies", size_cell),
	CELL_BY(0, "class_bytes", "CLASS", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"allocated each time: the size class; none: it varies", class_cell),
	CELL_BY(0, "saved_ratio", "SAVED%", CELL_F64, UNIT_RATIO, 0,
		"what a cache for objects of that size would save of the size class", saved_cell),
	CELL_BY(0, "charged_ratio", "CHARGED", CELL_F64, UNIT_RATIO, COL_WIDE,
		"of the allocations, charged to a control group", slab_charged_cell),
	CELL_BY(BY_LIVE, "untracked", "UNTRACKED", CELL_U64, UNIT_COUNT, COL_WIDE,
		"allocations since the start for which the table of objects had no room: not in "
		"LIVE",
		untracked_cell),
	BY_STACK_CELLS("code path"),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums);

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

static struct key slab_view_key_of(u32 by, const struct slab_agg *r)
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

static int slab_view_agg_feed(struct slab_state *v, const struct slab_agg *r)
{
	struct key k = slab_view_key_of(v->sums.by, r);
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

static int slab_view_slab_feed(void *state, const struct rec *r)
{
	struct slab_state *v = state;
	int rc = r->kind == REC_SLAB_AGG ? slab_view_agg_feed(v, (const struct slab_agg *)r) : 0;

	return rc ? rc : slab_tables_feed(&v->tables, r);
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
	int rc = live_complete(v);
	struct table *t = rc ? NULL : by_sums_show_with(&v->sums, r, "sites", "Call sites", v);

	if (!t)
		return rc ? rc : -ENOMEM;
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
	CELLS_VIEW("sites", columns),
	{},
};

const struct view slab_view = {
	.tables = (const struct view_table *const[]){slab_side_tables, tables, NULL},
	.size = sizeof(struct slab_state),
	.by_default = "cache,site",
	.by_keys = by_keys,
	.every_ns = slab_every,
	.init = slab_init,
	.feed = slab_view_slab_feed,
	.report = slab_report,
	.reset = slab_reset,
	.remembers = slab_remembers,
	.destroy = slab_destroy,
};
