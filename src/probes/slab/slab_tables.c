/* See slab_tables.h. */
#include "probes/slab/slab_tables.h"

#include <errno.h>
#include <string.h>

/* Of a cache, as far as the BPF programs tell it; "" for what lies in no cache or is not known. */
struct cache_key {
	char name[AGG_NAME_LEN];
	u64 large; /* whole pages */
};

struct event_sums {
	u64 count, nothing;
};

struct crossing_key {
	u32 from_cpu, to_cpu, from_node, to_node;
};

struct crossing_sums {
	u64 count, bytes;
};

static bool is_alloc(const struct slab_agg *r)
{
	return r->event < SLAB_KFREE;
}

static u64 requested_of(const struct slab_agg *r)
{
	return r->object_bytes ? r->count * r->object_bytes : r->requested;
}

void slab_sums_add(struct slab_sums *s, const struct slab_agg *r)
{
	if (!is_alloc(r)) {
		s->frees += r->flags & SLAB_NOTHING ? 0 : r->count;
		s->untracked_frees += r->flags & (SLAB_NOTHING | SLAB_TRACKED) ? 0 : r->count;
		return;
	}
	if (r->flags & SLAB_NOTHING) {
		s->failed += r->count;
		return;
	}
	s->allocations += r->count;
	s->charged += r->flags & SLAB_CHARGED ? r->count : 0;
	s->requested_bytes += requested_of(r);
	s->allocated_bytes += r->count * r->bytes;
}

void slab_live_add(struct slab_live *l, const struct slab_agg *r)
{
	u64 n = r->count - r->freed -
		r->untracked; /* may be below 0: unsigned, as records hold anything */

	if (!is_alloc(r) || r->flags & SLAB_NOTHING)
		return;
	l->objects = (s64)((u64)l->objects + n);
	l->bytes = (s64)((u64)l->bytes + n * r->bytes);
	l->untracked += r->untracked;
}

CELL_GET(slab_rate_cell)
{
	return cell_per_second(r, ((const struct slab_sums *)row->sums)->allocations);
}

CELL_GET(slab_waste_cell)
{
	const struct slab_sums *s = row->sums;

	if (!s->allocated_bytes || s->requested_bytes > s->allocated_bytes)
		return (struct cell){};
	return cell_u64(s->allocated_bytes - s->requested_bytes);
}

CELL_GET(slab_waste_ratio_cell)
{
	const struct slab_sums *s = row->sums;
	struct cell waste = slab_waste_cell(r, row, offset);

	return waste.type ? cell_ratio(waste.u, s->allocated_bytes) : waste;
}

CELL_GET(slab_charged_cell)
{
	const struct slab_sums *s = row->sums;

	return cell_ratio(s->charged, s->allocations);
}

struct cell slab_cache_cell(struct report *r, const char *name, bool large)
{
	return cell_text(*name ? report_text(r, "%.31s", name) : large ? "(large)" : "(not known)");
}

struct cell slab_live_cell(s64 v)
{
	return cell_u64(v > 0 ? (u64)v : 0);
}

void slab_tables_init(struct slab_tables *t, bool live)
{
	t->live = live;
	groups_init(&t->caches, sizeof(struct cache_key), sizeof(struct slab_sums));
	groups_init(&t->cache_live, sizeof(struct cache_key), sizeof(struct slab_live));
	groups_init(&t->usage, sizeof(struct cache_key), sizeof(struct slab_usage));
	groups_init(&t->events, sizeof(u64), sizeof(struct event_sums));
	groups_init(&t->crossings, sizeof(struct crossing_key), sizeof(struct crossing_sums));
}

static struct cache_key key_of_cache(const char *name, size_t size, bool large)
{
	struct cache_key k = {.large = large && !name[0]};

	memcpy(k.name, name, strnlen(name, MIN(size, sizeof(k.name) - 1)));
	return k;
}

static int slab_tables_agg_feed(struct slab_tables *t, const struct slab_agg *r)
{
	struct cache_key k = key_of_cache(r->cache, sizeof(r->cache), r->flags & SLAB_LARGE);
	u64 event = r->event;
	struct slab_sums *s;
	struct slab_live *l;
	struct event_sums *e;

	if (r->event >= SLAB_EVENT_N)
		return 0;
	e = groups_get(&t->events, &event);
	if (!e)
		return -ENOMEM;
	e->count += r->count;
	e->nothing += r->flags & SLAB_NOTHING ? r->count : 0;
	t->freed += r->flags & SLAB_TRACKED ? r->count : 0;
	s = groups_get(&t->caches, &k);
	if (!s)
		return -ENOMEM;
	slab_sums_add(s, r);
	l = groups_get(&t->cache_live, &k);
	if (!l)
		return -ENOMEM;
	slab_live_add(l, r);
	return 0;
}

static int slab_tables_usage_feed(struct slab_tables *t, const struct slab_usage *r)
{
	struct cache_key k = key_of_cache(r->name, sizeof(r->name), false);
	struct slab_usage *u = groups_get(&t->usage, &k);

	if (!u)
		return -ENOMEM;
	*u = *r;
	return 0;
}

static int crossing_feed(struct slab_tables *t, const struct slab_crossing *r)
{
	struct crossing_key k = {r->from_cpu, r->to_cpu, r->from_node, r->to_node};
	struct crossing_sums *s = groups_get(&t->crossings, &k);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->bytes += r->bytes;
	return 0;
}

int slab_tables_feed(struct slab_tables *t, const struct rec *r)
{
	switch (r->kind) {
	case REC_SLAB_AGG:
		return slab_tables_agg_feed(t, (const struct slab_agg *)r);
	case REC_SLAB_CACHE:
		return slab_tables_usage_feed(t, (const struct slab_usage *)r);
	case REC_SLAB_CROSSING:
		return crossing_feed(t, (const struct slab_crossing *)r);
	default:
		return 0;
	}
}

static CELL_GET(cache_cell)
{
	const struct cache_key *k = row->key;

	return slab_cache_cell(r, k->name, k->large);
}

/* Of what events counted: of a recording without them it is not known. */
static bool is_counted(const struct report *r)
{
	return stream_knows(r->stream, "slab", SLAB_EVENTS);
}

static CELL_GET(counted_cell)
{
	return is_counted(r) ? cell_of_u64(r, row, offset) : (struct cell){};
}

#define IF_COUNTED(get_)                                                              \
	static CELL_GET(counted_##get_)                                               \
	{                                                                             \
		return is_counted(r) ? slab_##get_(r, row, offset) : (struct cell){}; \
	}
IF_COUNTED(rate_cell)
IF_COUNTED(waste_cell)
IF_COUNTED(waste_ratio_cell)
IF_COUNTED(charged_cell)

static CELL_GET(net_cell)
{
	const struct slab_sums *s = row->sums;

	return is_counted(r) ? cell_s64((s64)(s->allocations - s->frees)) : (struct cell){};
}

/* Of an s64 of what is followed. */
static CELL_GET(live_cell)
{
	const struct slab_tables *t = row->view;
	const struct slab_live *l = t->live ? groups_find(&t->cache_live, row->key) : NULL;

	return l ? slab_live_cell(*(const s64 *)((const char *)l + offset)) : (struct cell){};
}

static const struct slab_usage *usage_of(const struct row_of *row)
{
	return groups_find(&((const struct slab_tables *)row->view)->usage, row->key);
}

/* Of an u64 of what is in the cache. */
static CELL_GET(usage_cell)
{
	const struct slab_usage *u = usage_of(row);

	return u ? cell_u64(*(const u64 *)((const char *)u + offset)) : (struct cell){};
}

static CELL_GET(unused_cell)
{
	const struct slab_usage *u = usage_of(row);
	u64 used = u ? u->active_objects * u->object_bytes : 0;

	return u && used <= u->bytes ? cell_u64(u->bytes - used) : (struct cell){};
}

static CELL_GET(use_cell)
{
	const struct slab_usage *u = usage_of(row);

	return u ? cell_ratio(u->active_objects, u->objects) : (struct cell){};
}

static CELL_GET(grown_cell)
{
	const struct slab_usage *u = usage_of(row);

	return u ? cell_s64((s64)(u->bytes - u->first_bytes)) : (struct cell){};
}

/* What /sys/kernel/slab says, where it was read. */
static const struct slab_usage *read_of(const struct row_of *row)
{
	const struct slab_usage *u = usage_of(row);

	return u && u->used_bytes ? u : NULL;
}

static CELL_GET(held_cell)
{
	return read_of(row) ? cell_u64(read_of(row)->held_slabs) : (struct cell){};
}

static CELL_GET(reclaimable_cell)
{
	const struct slab_usage *u = read_of(row);

	return u ? cell_bool(u->reclaimable) : (struct cell){};
}

static CELL_GET(aliases_cell)
{
	return read_of(row) ? cell_u64(read_of(row)->aliases) : (struct cell){};
}

#define COUNTED(member_, title_, unit_, flags_, help_)                                            \
	CELL_FROM(0, struct slab_sums, member_, #member_, title_, CELL_U64, unit_, flags_, help_, \
		counted_cell)
#define LIVE(member_, name_, title_, unit_, help_)                                                \
	CELL_FROM(0, struct slab_live, member_, name_, title_, CELL_U64, unit_, COL_LEVEL, help_, \
		live_cell)
#define USAGE(member_, title_, unit_, flags_, help_)                                \
	CELL_FROM(0, struct slab_usage, member_, #member_, title_, CELL_U64, unit_, \
		flags_ | COL_LEVEL, help_, usage_cell)

static const struct cell_column cache_columns[] = {
	CELL_BY(0, "cache", "CACHE", CELL_TEXT, UNIT_NONE, 0,
		"slab cache; caches that the kernel merged have one name for all; large: whole "
		"pages, beyond the largest size class",
		cache_cell),
	COUNTED(allocations, "ALLOCS", UNIT_COUNT, COL_WEIGHT, "objects allocated (exact)"),
	COUNTED(frees, "FREES", UNIT_COUNT, 0, "objects freed (exact)"),
	CELL_BY(0, "allocations_per_s", "ALLOCS/s", CELL_F64, UNIT_COUNT, 0,
		"allocations / the interval", counted_rate_cell),
	COUNTED(requested_bytes, "REQUESTED", UNIT_BYTES, COL_WIDE,
		"asked for by the allocations; of a cache, its object size without padding"),
	COUNTED(allocated_bytes, "ALLOCATED", UNIT_BYTES, 0,
		"given to the allocations, with padding up to the next object"),
	CELL_BY(0, "waste_bytes", "WASTE", CELL_U64, UNIT_BYTES, 0,
		"allocated - requested: internal fragmentation", counted_waste_cell),
	CELL_BY(0, "waste_ratio", "WASTE%", CELL_F64, UNIT_RATIO, 0, "waste / allocated bytes",
		counted_waste_ratio_cell),
	CELL_BY(0, "net_objects", "NET", CELL_S64, UNIT_COUNT, 0, "allocations - frees", net_cell),
	LIVE(objects, "live_objects", "LIVE", UNIT_COUNT,
		"allocated since the start and not freed (with --by live)"),
	LIVE(bytes, "live_bytes", "LIVE BYTES", UNIT_BYTES, "allocated to those (with --by live)"),
	CELL_FROM(0, struct slab_usage, active_objects, "active_objects", "ACTIVE", CELL_U64,
		UNIT_COUNT, COL_LEVEL,
		"objects in use at the end, of /proc/slabinfo: an upper bound, it counts the free "
		"ones of slabs that CPUs hold",
		usage_cell),
	USAGE(objects, "OBJECTS", UNIT_COUNT, COL_WIDE, "objects at the end, in use or free"),
	USAGE(object_bytes, "SIZE", UNIT_BYTES, 0, "of one object, with padding"),
	USAGE(slabs, "SLABS", UNIT_COUNT, COL_WIDE, "slabs at the end"),
	CELL_BY(0, "held_slabs", "HELD", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"of these, held by CPUs (/sys/kernel/slab)", held_cell),
	USAGE(bytes, "BYTES", UNIT_BYTES, 0, "pages of the slabs at the end"),
	CELL_BY(0, "unused_bytes", "UNUSED", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"of these, in free objects and behind the last one (a lower bound, as active is "
		"an upper one)",
		unused_cell),
	CELL_BY(0, "use_ratio", "USE%", CELL_F64, UNIT_RATIO, COL_WIDE, "active / all objects",
		use_cell),
	CELL_BY(0, "grown_bytes", "GREW", CELL_S64, UNIT_BYTES, 0,
		"pages of the slabs since the start", grown_cell),
	CELL_BY(0, "charged_ratio", "CHARGED", CELL_F64, UNIT_RATIO, COL_WIDE,
		"of the allocations, charged to a control group", counted_charged_cell),
	CELL_BY(0, "reclaimable", "RECLAIM", CELL_BOOL, UNIT_NONE, COL_WIDE,
		"the kernel gives it back when memory is short (SReclaimable)", reclaimable_cell),
	CELL_BY(0, "aliases", "ALIASES", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"caches merged into this one", aliases_cell),
};

/* Caches without an event get a row for what is in them. */
static int caches_complete(struct slab_tables *t)
{
	for (size_t i = 0; i < t->usage.n; i++) {
		const struct slab_usage *u = groups_value(&t->usage, i);

		if (u->bytes && !groups_get(&t->caches, groups_key(&t->usage, i)))
			return -ENOMEM;
	}
	return 0;
}

int slab_caches_report(struct slab_tables *t, struct report *r)
{
	static const struct cell_table table = {CELL_TABLE("caches", "Slab caches", "allocations",
		"No slab allocations in scope.", cache_columns)};
	int rc = caches_complete(t);

	return rc ? rc : cells_report(r, &table, &t->caches, t);
}

static CELL_GET(event_cell)
{
	static const char *const names[SLAB_EVENT_N] = {
		"kmalloc",
		"kmalloc_node",
		"kmem_cache_alloc",
		"kmem_cache_alloc_node",
		"kfree",
		"kmem_cache_free",
	};

	return cell_text(names[*(const u64 *)row->key]);
}

static const struct cell_column event_columns[] = {
	CELL_BY(0, "event", "EVENT", CELL_TEXT, UNIT_NONE, 0, "tracepoint of the kernel (kmem:*)",
		event_cell),
	CELL_NUMBER(struct event_sums, count, "count", "COUNT", UNIT_COUNT, 0,
		"times it fired (exact)"),
	CELL_NUMBER(struct event_sums, nothing, "failed", "FAILED", UNIT_COUNT, 0,
		"of these, allocations that failed and frees of NULL pointers"),
};

static const struct cell_column crossing_columns[] = {
	CELL_KEY(0, struct crossing_key, from_cpu, "from_cpu", "ALLOCATED ON", UNIT_ID, 0,
		"CPU that allocated"),
	CELL_KEY(
		0, struct crossing_key, to_cpu, "to_cpu", "FREED ON", UNIT_ID, 0, "CPU that freed"),
	CELL_KEY(0, struct crossing_key, from_node, "from_node", "NODE", UNIT_ID, 0,
		"NUMA node of the CPU that allocated"),
	CELL_KEY(0, struct crossing_key, to_node, "to_node", "TO NODE", UNIT_ID, 0,
		"NUMA node of the CPU that freed"),
	CELL_NUMBER(struct crossing_sums, count, "count", "OBJECTS", UNIT_COUNT, 0,
		"objects freed there (with --by live)"),
	CELL_NUMBER(struct crossing_sums, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL,
		"allocated to them"),
};

static void crossings_tell(const struct slab_tables *t, struct report *r)
{
	u64 all = 0, nodes = 0;

	for (size_t i = 0; i < t->crossings.n; i++) {
		const struct crossing_key *k = groups_key(&t->crossings, i);
		const struct crossing_sums *s = groups_value(&t->crossings, i);

		all += s->count;
		nodes += k->from_node == k->to_node ? 0 : s->count;
	}
	if (t->live && t->freed)
		report_note(r,
			"Of %llu objects allocated and freed since the start of memwhy, %llu "
			"(%.1f%%) were freed on another CPU, %llu (%.1f%%) on another node.",
			t->freed, all, 100.0 * (double)all / (double)t->freed, nodes,
			100.0 * (double)nodes / (double)t->freed);
}

int slab_tables_report(struct slab_tables *t, struct report *r)
{
	static const struct cell_table crossings = {CELL_TABLE("crossings",
		"Freed on another CPU than allocated", "count", NULL, crossing_columns)};
	static const struct cell_table events = {
		CELL_TABLE("events", "Slab events", "count", NULL, event_columns)};
	int rc = cells_report(r, &crossings, &t->crossings, NULL);

	if (rc)
		return rc;
	crossings_tell(t, r);
	return cells_report(r, &events, &t->events, NULL);
}

void slab_tables_reset(struct slab_tables *t)
{
	groups_clear(&t->caches);
	groups_clear(&t->events);
	groups_clear(&t->crossings);
	t->freed = 0;
}

void slab_tables_free(struct slab_tables *t)
{
	groups_free(&t->caches);
	groups_free(&t->cache_live);
	groups_free(&t->usage);
	groups_free(&t->events);
	groups_free(&t->crossings);
}

const struct view_table slab_side_tables[] = {
	CELLS_VIEW("caches", cache_columns),
	CELLS_VIEW("crossings", crossing_columns),
	CELLS_VIEW("events", event_columns),
	{},
};
