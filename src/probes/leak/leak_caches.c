/* What became of each cache as a whole, and of the kernel's memory. See leak_tables.h. */
#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "probes/leak/leak_tables.h"

void leak_caches_init(struct leak_caches *c)
{
	groups_init(&c->sums, sizeof(struct leak_cache_key), sizeof(struct leak_cache));
	groups_init(&c->usage, sizeof(struct leak_cache_key), sizeof(struct slab_usage));
}

struct leak_cache *leak_caches_get(struct leak_caches *c, const struct leak_cache_key *k)
{
	return groups_get(&c->sums, k);
}

/* Frees are told by cache alone. */
static int free_feed(struct leak_caches *c, const struct slab_agg *r)
{
	struct leak_cache_key k = {};
	struct leak_cache *s;

	if (r->event < SLAB_KFREE || r->flags & SLAB_NOTHING)
		return 0;
	memcpy(k.name, r->cache, strnlen(r->cache, sizeof(k.name) - 1));
	k.kind = !k.name[0] && r->flags & SLAB_LARGE ? LEAK_LARGE : LEAK_OBJECTS;
	s = leak_caches_get(c, &k);
	if (!s)
		return -ENOMEM;
	if (r->flags & SLAB_TRACKED)
		return 0;
	s->old_frees += r->count;
	s->all_old_frees += r->count;
	s->old_bytes += r->count * r->bytes;
	return 0;
}

static int leak_caches_usage_feed(struct leak_caches *c, const struct slab_usage *r)
{
	struct leak_cache_key k = {};
	struct slab_usage *u;

	memcpy(k.name, r->name, strnlen(r->name, sizeof(k.name) - 1));
	u = groups_get(&c->usage, &k);
	if (!u)
		return -ENOMEM;
	*u = *r;
	return 0;
}

int leak_caches_feed(struct leak_caches *c, const struct rec *r)
{
	switch (r->kind) {
	case REC_SLAB_AGG:
		return free_feed(c, (const struct slab_agg *)r);
	case REC_SLAB_CACHE:
		return leak_caches_usage_feed(c, (const struct slab_usage *)r);
	case REC_PAGES_FOLLOW:
		c->pages = *(const struct pages_follow *)r;
		return 0;
	default:
		return 0;
	}
}

const struct slab_usage *leak_usage(const struct leak_caches *c, const struct leak_cache_key *k)
{
	return k->name[0] ? groups_find(&c->usage, k) : NULL;
}

bool leak_cache_grown(const struct leak_caches *c, const struct leak_cache_key *k, s64 *ret)
{
	const struct slab_usage *u = leak_usage(c, k);

	if (!u)
		return false;
	*ret = (s64)(u->active_objects - u->first_active_objects);
	return true;
}

/* The free objects of slabs that CPUs hold, which count as in use, come and go too. */
#define UNSEEN_NOISE 256

u64 leak_cache_unseen(const struct leak_caches *c, const struct leak_cache_key *k)
{
	const struct leak_cache *s = groups_find(&c->sums, k);
	s64 grown, unseen;

	if (!s || !leak_cache_grown(c, k, &grown))
		return 0;
	unseen = (s64)(s->objects - s->all_old_frees - (u64)grown);
	return unseen > UNSEEN_NOISE ? (u64)unseen : 0;
}

/* What the rows need besides. */
struct caches_view {
	const struct leak_caches *c;
	bool scoped;
};

static const struct leak_caches *caches_of(const struct row_of *row)
{
	return ((const struct caches_view *)row->view)->c;
}

static bool is_pages(const struct row_of *row)
{
	return ((const struct leak_cache_key *)row->key)->kind == LEAK_PAGES;
}

static CELL_GET(live_cell)
{
	return leak_live_of(*(const u64 *)((const char *)row->sums + offset));
}

static CELL_GET(old_frees_cell)
{
	const struct leak_caches *c = caches_of(row);

	return cell_u64(is_pages(row) ? c->pages.unknown - c->pages_before.unknown
				      : ((const struct leak_cache *)row->sums)->old_frees);
}

static CELL_GET(unseen_cell)
{
	const struct caches_view *v = row->view;

	return leak_usage(v->c, row->key) && !v->scoped
		       ? cell_u64(leak_cache_unseen(v->c, row->key))
		       : (struct cell){};
}

static CELL_GET(grew_cell)
{
	s64 grown;

	return leak_cache_grown(caches_of(row), row->key, &grown) ? cell_s64(grown)
								  : (struct cell){};
}

static CELL_GET(grew_bytes_cell)
{
	const struct slab_usage *u = leak_usage(caches_of(row), row->key);

	return u ? cell_s64((s64)(u->bytes - u->first_bytes)) : (struct cell){};
}

/* Known where /sys/kernel/slab was read. */
static CELL_GET(reclaimable_cell)
{
	const struct slab_usage *u = leak_usage(caches_of(row), row->key);

	return u && u->used_bytes ? cell_bool(u->reclaimable) : (struct cell){};
}

CELL_EXPR(cache_cell, struct leak_cache, cell_text(leak_cache_text(r, row->key)))
CELL_EXPR(old_bytes_cell, struct leak_cache,
	e->old_bytes || (!is_pages(row) && !e->old_frees) ? cell_u64(e->old_bytes)
							  : (struct cell){})

static const struct cell_column columns[] = {
	CELL_BY(0, "cache", "CACHE", CELL_TEXT, UNIT_NONE, 0,
		"slab cache; (large): kmalloc of whole pages; (pages): pages the kernel took for "
		"itself",
		cache_cell),
	CELL_FROM(0, struct leak_cache, objects, "objects", "LIVE", CELL_U64, UNIT_COUNT,
		COL_WEIGHT | COL_LEVEL, "allocated since the start and not freed (exact)",
		live_cell),
	CELL_FROM(0, struct leak_cache, bytes, "bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"allocated to those", live_cell),
	CELL_NUMBER(struct leak_cache, allocated, "allocated", "ALLOCS", UNIT_COUNT, 0,
		"allocated in the interval"),
	CELL_NUMBER(struct leak_cache, freed, "freed", "FREED", UNIT_COUNT, 0,
		"of what was allocated since the start, freed in the interval"),
	CELL_BY(0, "old_frees", "OLD FREES", CELL_U64, UNIT_COUNT, 0,
		"frees in the interval of what was allocated before the start or not followed; of "
		"pages also those of processes and files, which are not followed",
		old_frees_cell),
	CELL_BY(0, "old_freed_bytes", "OLD BYTES", CELL_U64, UNIT_BYTES, COL_WIDE,
		"allocated to those; none: not known", old_bytes_cell),
	CELL_BY(0, "grown_objects", "SLABINFO", CELL_S64, UNIT_COUNT, 0,
		"objects of the cache at the end less those at the start, of whatever age, by "
		"/proc/slabinfo, which counts the free ones of slabs that CPUs hold as in use",
		grew_cell),
	CELL_BY(0, "grown_bytes", "GREW", CELL_S64, UNIT_BYTES, 0,
		"pages of its slabs since the start", grew_bytes_cell),
	CELL_BY(0, "unseen_frees", "UNSEEN", CELL_U64, UNIT_COUNT, COL_WIDE,
		"outstanding, less the old frees and what the cache grew by since the start: "
		"objects whose free fired no event (estimated, from some hundred on); none with a "
		"scope",
		unseen_cell),
	CELL_BY(0, "reclaimable", "RECLAIM", CELL_BOOL, UNIT_NONE, COL_WIDE,
		"the kernel gives it back when memory is short (SReclaimable)", reclaimable_cell),
	CELL_NUMBER(struct leak_cache, untracked, "untracked", "UNTRACKED", UNIT_COUNT, COL_WIDE,
		"allocations since the start for which the table of objects had no room"),
};

const struct view_table leak_cache_tables[] = {
	CELLS_VIEW("caches", columns),
	{},
};

int leak_caches_report(const struct leak_caches *c, bool scoped, struct report *r)
{
	static const struct cell_table table = {
		CELL_TABLE("caches", "By cache, with what was there before", "bytes",
			"Nothing was allocated in scope.", columns)};

	return cells_report(r, &table, &c->sums, &(struct caches_view){c, scoped});
}

void leak_caches_reset(struct leak_caches *c)
{
	for (size_t i = 0; i < c->sums.n; i++) {
		struct leak_cache *s = groups_value(&c->sums, i);

		s->allocated = s->freed = s->old_frees = s->old_bytes = 0;
	}
	c->pages_before = c->pages;
}

void leak_caches_free(struct leak_caches *c)
{
	groups_free(&c->sums);
	groups_free(&c->usage);
}

static const char *const memory_names[] = {
	"MemTotal", "MemFree", "Active", "Inactive", "Unevictable", "Hugetlb"};

void leak_memory_feed(struct leak_memory *m, const struct system_value *v)
{
	_Static_assert(ARRAY_SIZE(memory_names) == ARRAY_SIZE(m->values), "one name a value");
	for (size_t i = 0; i < ARRAY_SIZE(memory_names) && v->source == SYSTEM_MEMINFO; i++) {
		if (strncmp(v->name, memory_names[i], sizeof(v->name)) != 0)
			continue;
		if (!m->values[i].known)
			m->values[i].first = v->value;
		m->values[i].last = v->value;
		m->values[i].known = true;
	}
}

bool leak_memory_grown(const struct leak_memory *m, s64 *ret)
{
	u64 first = m->values[0].first, last = m->values[0].last;

	for (size_t i = 1; i < ARRAY_SIZE(m->values); i++) {
		first -= m->values[i].first;
		last -= m->values[i].last;
	}
	*ret = (s64)(last - first);
	return m->values[0].known && m->values[1].known && m->values[2].known;
}
