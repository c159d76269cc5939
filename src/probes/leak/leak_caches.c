/* What became of each cache as a whole, and of the kernel's memory. See leak_tables.h. */
#include <errno.h>
#include <string.h>

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

static int usage_feed(struct leak_caches *c, const struct slab_usage *r)
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
		return usage_feed(c, (const struct slab_usage *)r);
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

enum {
	C_CACHE,
	C_OBJECTS,
	C_BYTES,
	C_ALLOCATED,
	C_FREED,
	C_OLD_FREES,
	C_OLD_BYTES,
	C_GREW,
	C_GREW_BYTES,
	C_UNSEEN,
	C_RECLAIMABLE,
	C_UNTRACKED,
	C_N,
};

static const struct column columns[C_N] = {
	[C_CACHE] = {"cache", "CACHE", CELL_TEXT, UNIT_NONE, 0,
		"slab cache; (large): kmalloc of whole pages; (pages): pages the kernel took for "
		"itself"},
	[C_OBJECTS] = {"objects", "LIVE", CELL_U64, UNIT_COUNT, COL_WEIGHT | COL_LEVEL,
		"allocated since the start and not freed (exact)"},
	[C_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL, "allocated to those"},
	[C_ALLOCATED] = {"allocated", "ALLOCS", CELL_U64, UNIT_COUNT, 0,
		"allocated in the interval"},
	[C_FREED] = {"freed", "FREED", CELL_U64, UNIT_COUNT, 0,
		"of what was allocated since the start, freed in the interval"},
	[C_OLD_FREES] = {"old_frees", "OLD FREES", CELL_U64, UNIT_COUNT, 0,
		"frees in the interval of what was allocated before the start or not followed; of "
		"pages also those of processes and files, which are not followed"},
	[C_OLD_BYTES] = {"old_freed_bytes", "OLD BYTES", CELL_U64, UNIT_BYTES, COL_WIDE,
		"allocated to those; none: not known"},
	[C_GREW] = {"grown_objects", "SLABINFO", CELL_S64, UNIT_COUNT, 0,
		"objects of the cache at the end less those at the start, of whatever age, by "
		"/proc/slabinfo, which counts the free ones of slabs that CPUs hold as in use"},
	[C_GREW_BYTES] = {"grown_bytes", "GREW", CELL_S64, UNIT_BYTES, 0,
		"pages of its slabs since the start"},
	[C_UNSEEN] = {"unseen_frees", "UNSEEN", CELL_U64, UNIT_COUNT, COL_WIDE,
		"outstanding, less the old frees and what the cache grew by since the start: "
		"objects whose free fired no event (estimated, from some hundred on); none with a "
		"scope"},
	[C_RECLAIMABLE] = {"reclaimable", "RECLAIM", CELL_BOOL, UNIT_NONE, COL_WIDE,
		"the kernel gives it back when memory is short (SReclaimable)"},
	[C_UNTRACKED] = {"untracked", "UNTRACKED", CELL_U64, UNIT_COUNT, COL_WIDE,
		"allocations since the start for which the table of objects had no room"},
};

const struct view_table leak_cache_tables[] = {
	{"caches", columns, C_N, sizeof(columns[0])},
	{},
};

static void usage_fill(struct cell *row, const struct slab_usage *u)
{
	row[C_GREW] = cell_s64((s64)(u->active_objects - u->first_active_objects));
	row[C_GREW_BYTES] = cell_s64((s64)(u->bytes - u->first_bytes));
	if (u->used_bytes) /* /sys/kernel/slab was read */
		row[C_RECLAIMABLE] = (struct cell){.type = CELL_BOOL, .b = u->reclaimable != 0};
}

static void row_fill(struct cell *row, const struct leak_caches *c, struct report *r, bool scoped,
	const struct leak_cache_key *k, const struct leak_cache *s)
{
	const struct slab_usage *u = leak_usage(c, k);
	bool pages = k->kind == LEAK_PAGES;

	row[C_CACHE] = cell_text(leak_cache_text(r, k));
	row[C_OBJECTS] = leak_live_of(s->objects);
	row[C_BYTES] = leak_live_of(s->bytes);
	row[C_ALLOCATED] = cell_u64(s->allocated);
	row[C_FREED] = cell_u64(s->freed);
	row[C_OLD_FREES] =
		cell_u64(pages ? c->pages.unknown - c->pages_before.unknown : s->old_frees);
	if (s->old_bytes || (!pages && !s->old_frees))
		row[C_OLD_BYTES] = cell_u64(s->old_bytes);
	row[C_UNTRACKED] = cell_u64(s->untracked);
	if (!u)
		return;
	usage_fill(row, u);
	if (!scoped)
		row[C_UNSEEN] = cell_u64(leak_cache_unseen(c, k));
}

int leak_caches_report(const struct leak_caches *c, bool scoped, struct report *r)
{
	struct table *t =
		report_table(r, "caches", "By cache, with what was there before", columns, C_N);

	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < c->sums.n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row_fill(row, c, r, scoped, groups_key(&c->sums, i), groups_value(&c->sums, i));
	}
	t->sort = "bytes";
	t->empty = "Nothing was allocated in scope.";
	return 0;
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
