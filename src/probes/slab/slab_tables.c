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

struct cell slab_waste(const struct slab_sums *s)
{
	if (!s->allocated_bytes || s->requested_bytes > s->allocated_bytes)
		return (struct cell){};
	return cell_u64(s->allocated_bytes - s->requested_bytes);
}

struct cell slab_waste_ratio(const struct slab_sums *s)
{
	struct cell waste = slab_waste(s);

	if (!waste.type)
		return waste;
	return cell_f64((double)waste.u / (double)s->allocated_bytes);
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

static int agg_feed(struct slab_tables *t, const struct slab_agg *r)
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

static int usage_feed(struct slab_tables *t, const struct slab_usage *r)
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
		return agg_feed(t, (const struct slab_agg *)r);
	case REC_SLAB_CACHE:
		return usage_feed(t, (const struct slab_usage *)r);
	case REC_SLAB_CROSSING:
		return crossing_feed(t, (const struct slab_crossing *)r);
	default:
		return 0;
	}
}

enum {
	C_CACHE,
	C_ALLOCATIONS,
	C_FREES,
	C_RATE,
	C_REQUESTED,
	C_ALLOCATED,
	C_WASTE,
	C_WASTE_RATIO,
	C_NET,
	C_LIVE,
	C_LIVE_BYTES,
	C_ACTIVE,
	C_OBJECTS,
	C_OBJECT_BYTES,
	C_SLABS,
	C_HELD,
	C_BYTES,
	C_UNUSED,
	C_USE,
	C_GROWN,
	C_CHARGED,
	C_RECLAIMABLE,
	C_ALIASES,
	CACHE_COLUMNS,
};

static const struct column cache_columns[CACHE_COLUMNS] = {
	[C_CACHE] = {"cache", "CACHE", CELL_TEXT, UNIT_NONE, 0,
		"slab cache; caches that the kernel merged have one name for all; large: whole "
		"pages, beyond the largest size class"},
	[C_ALLOCATIONS] = {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"objects allocated (exact)"},
	[C_FREES] = {"frees", "FREES", CELL_U64, UNIT_COUNT, 0, "objects freed (exact)"},
	[C_RATE] = {"allocations_per_s", "ALLOCS/s", CELL_F64, UNIT_COUNT, 0,
		"allocations / the interval"},
	[C_REQUESTED] = {"requested_bytes", "REQUESTED", CELL_U64, UNIT_BYTES, COL_WIDE,
		"asked for by the allocations; of a cache, its object size without padding"},
	[C_ALLOCATED] = {"allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES, 0,
		"given to the allocations, with padding up to the next object"},
	[C_WASTE] = {"waste_bytes", "WASTE", CELL_U64, UNIT_BYTES, 0,
		"allocated - requested: internal fragmentation"},
	[C_WASTE_RATIO] = {"waste_ratio", "WASTE%", CELL_F64, UNIT_RATIO, 0,
		"waste / allocated bytes"},
	[C_NET] = {"net_objects", "NET", CELL_S64, UNIT_COUNT, 0, "allocations - frees"},
	[C_LIVE] = {"live_objects", "LIVE", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"allocated since the start and not freed (with --by live)"},
	[C_LIVE_BYTES] = {"live_bytes", "LIVE BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"allocated to those (with --by live)"},
	[C_ACTIVE] = {"active_objects", "ACTIVE", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"objects in use at the end, of /proc/slabinfo: an upper bound, it counts the free "
		"ones of slabs that CPUs hold"},
	[C_OBJECTS] = {"objects", "OBJECTS", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"objects at the end, in use or free"},
	[C_OBJECT_BYTES] = {"object_bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"of one object, with padding"},
	[C_SLABS] = {"slabs", "SLABS", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"slabs at the end"},
	[C_HELD] = {"held_slabs", "HELD", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"of these, held by CPUs (/sys/kernel/slab)"},
	[C_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"pages of the slabs at the end"},
	[C_UNUSED] = {"unused_bytes", "UNUSED", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"of these, in free objects and behind the last one (a lower bound, as active is "
		"an upper one)"},
	[C_USE] = {"use_ratio", "USE%", CELL_F64, UNIT_RATIO, COL_WIDE, "active / all objects"},
	[C_GROWN] = {"grown_bytes", "GREW", CELL_S64, UNIT_BYTES, 0,
		"pages of the slabs since the start"},
	[C_CHARGED] = {"charged_ratio", "CHARGED", CELL_F64, UNIT_RATIO, COL_WIDE,
		"of the allocations, charged to a control group"},
	[C_RECLAIMABLE] = {"reclaimable", "RECLAIM", CELL_BOOL, UNIT_NONE, COL_WIDE,
		"the kernel gives it back when memory is short (SReclaimable)"},
	[C_ALIASES] = {"aliases", "ALIASES", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"caches merged into this one"},
};

static const char *cache_name(struct report *r, const struct cache_key *k)
{
	if (k->name[0])
		return report_text(r, "%.31s", k->name);
	return k->large ? "(large)" : "(not known)";
}

static void cache_fill_usage(struct cell *row, const struct slab_usage *u)
{
	u64 used = u->active_objects * u->object_bytes;

	row[C_ACTIVE] = cell_u64(u->active_objects);
	row[C_OBJECTS] = cell_u64(u->objects);
	row[C_OBJECT_BYTES] = cell_u64(u->object_bytes);
	row[C_SLABS] = cell_u64(u->slabs);
	row[C_BYTES] = cell_u64(u->bytes);
	if (used <= u->bytes)
		row[C_UNUSED] = cell_u64(u->bytes - used);
	if (u->objects)
		row[C_USE] = cell_f64((double)u->active_objects / (double)u->objects);
	row[C_GROWN] = cell_s64((s64)(u->bytes - u->first_bytes));
	if (!u->used_bytes)
		return; /* /sys/kernel/slab was not read */
	row[C_HELD] = cell_u64(u->held_slabs);
	row[C_RECLAIMABLE] = (struct cell){.type = CELL_BOOL, .b = u->reclaimable != 0};
	row[C_ALIASES] = cell_u64(u->aliases);
}

static void cache_fill_events(struct cell *row, const struct report *r, const struct slab_sums *s)
{
	double seconds = (double)stream_interval_ns(r->stream) / 1e9;

	row[C_ALLOCATIONS] = cell_u64(s->allocations);
	row[C_FREES] = cell_u64(s->frees);
	if (seconds > 0)
		row[C_RATE] = cell_f64((double)s->allocations / seconds);
	row[C_REQUESTED] = cell_u64(s->requested_bytes);
	row[C_ALLOCATED] = cell_u64(s->allocated_bytes);
	row[C_WASTE] = slab_waste(s);
	row[C_WASTE_RATIO] = slab_waste_ratio(s);
	row[C_NET] = cell_s64((s64)(s->allocations - s->frees));
	if (s->allocations)
		row[C_CHARGED] = cell_f64((double)s->charged / (double)s->allocations);
}

static void cache_fill(struct cell *row, struct slab_tables *t, struct report *r,
	const struct cache_key *k, const struct slab_sums *s)
{
	const struct slab_usage *u = groups_find(&t->usage, k);
	const struct slab_live *l = groups_find(&t->cache_live, k);

	row[C_CACHE] = cell_text(cache_name(r, k));
	if (stream_knows(r->stream, "slab", SLAB_EVENTS))
		cache_fill_events(row, r, s);
	if (t->live && l) {
		row[C_LIVE] = slab_live_cell(l->objects);
		row[C_LIVE_BYTES] = slab_live_cell(l->bytes);
	}
	if (u)
		cache_fill_usage(row, u);
}

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
	struct table *table =
		report_table(r, "caches", "Slab caches", cache_columns, ARRAY_SIZE(cache_columns));
	int rc = table ? caches_complete(t) : -ENOMEM;

	for (size_t i = 0; !rc && i < t->caches.n; i++) {
		struct cell *row = table_row(table);

		if (!row)
			return -ENOMEM;
		cache_fill(row, t, r, groups_key(&t->caches, i), groups_value(&t->caches, i));
	}
	if (rc)
		return rc;
	table->sort = "allocations";
	table->empty = "No slab allocations in scope.";
	return 0;
}

static const struct column event_columns[] = {
	{"event", "EVENT", CELL_TEXT, UNIT_NONE, 0, "tracepoint of the kernel (kmem:*)"},
	{"count", "COUNT", CELL_U64, UNIT_COUNT, 0, "times it fired (exact)"},
	{"failed", "FAILED", CELL_U64, UNIT_COUNT, 0,
		"of these, allocations that failed and frees of NULL pointers"},
};

static int events_report(const struct slab_tables *t, struct report *r)
{
	static const char *const names[SLAB_EVENT_N] = {
		"kmalloc",
		"kmalloc_node",
		"kmem_cache_alloc",
		"kmem_cache_alloc_node",
		"kfree",
		"kmem_cache_free",
	};
	struct table *table =
		report_table(r, "events", "Slab events", event_columns, ARRAY_SIZE(event_columns));

	for (size_t i = 0; table && i < t->events.n; i++) {
		const struct event_sums *s = groups_value(&t->events, i);
		struct cell *row = table_row(table);

		if (!row)
			return -ENOMEM;
		row[0] = cell_text(names[*(const u64 *)groups_key(&t->events, i)]);
		row[1] = cell_u64(s->count);
		row[2] = cell_u64(s->nothing);
	}
	if (table)
		table->sort = "count";
	return table ? 0 : -ENOMEM;
}

static const struct column crossing_columns[] = {
	{"from_cpu", "ALLOCATED ON", CELL_U64, UNIT_ID, 0, "CPU that allocated"},
	{"to_cpu", "FREED ON", CELL_U64, UNIT_ID, 0, "CPU that freed"},
	{"from_node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node of the CPU that allocated"},
	{"to_node", "TO NODE", CELL_U64, UNIT_ID, 0, "NUMA node of the CPU that freed"},
	{"count", "OBJECTS", CELL_U64, UNIT_COUNT, 0, "objects freed there (with --by live)"},
	{"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL, "allocated to them"},
};

static int crossings_report(const struct slab_tables *t, struct report *r)
{
	struct table *table = report_table(r, "crossings", "Freed on another CPU than allocated",
		crossing_columns, ARRAY_SIZE(crossing_columns));
	u64 all = 0, nodes = 0;

	for (size_t i = 0; table && i < t->crossings.n; i++) {
		const struct crossing_key *k = groups_key(&t->crossings, i);
		const struct crossing_sums *s = groups_value(&t->crossings, i);
		struct cell *row = table_row(table);

		if (!row)
			return -ENOMEM;
		row[0] = cell_u64(k->from_cpu);
		row[1] = cell_u64(k->to_cpu);
		row[2] = cell_u64(k->from_node);
		row[3] = cell_u64(k->to_node);
		row[4] = cell_u64(s->count);
		row[5] = cell_u64(s->bytes);
		all += s->count;
		nodes += k->from_node == k->to_node ? 0 : s->count;
	}
	if (!table)
		return -ENOMEM;
	table->sort = "count";
	if (t->live && t->freed)
		report_note(r,
			"Of %llu objects allocated and freed since the start of memwhy, %llu "
			"(%.1f%%) were freed on another CPU, %llu (%.1f%%) on another node.",
			t->freed, all, 100.0 * (double)all / (double)t->freed, nodes,
			100.0 * (double)nodes / (double)t->freed);
	return 0;
}

int slab_tables_report(struct slab_tables *t, struct report *r)
{
	int rc = crossings_report(t, r);

	return rc ? rc : events_report(t, r);
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

#define TABLE(name_, columns_)                                                   \
	{                                                                        \
		(name_), (columns_), ARRAY_SIZE(columns_), sizeof((columns_)[0]) \
	}

const struct view_table slab_side_tables[] = {
	TABLE("caches", cache_columns),
	TABLE("crossings", crossing_columns),
	TABLE("events", event_columns),
	{},
};
