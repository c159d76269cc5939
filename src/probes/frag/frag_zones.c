/* See frag_zones.h. */
#include "probes/frag/frag_zones.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "analysis/cells.h"
#include "base/clock.h"
#include "sys/memory/extfrag.h"

/* Records may come from a file that is not to be trusted: no more zones than a kernel can have. */
#define STATES_MAX ZONES_MAX

/* Types that were read longer than this before the last sample are said to be old. */
#define OLD_NS (3 * NSEC_PER_SEC)

void zones_init(struct zones *z)
{
	groups_init(&z->zones, sizeof(struct zone_key), sizeof(struct zone_state));
	groups_init(&z->types, sizeof(struct type_key), sizeof(struct type_state));
}

void zones_free(struct zones *z)
{
	groups_free(&z->zones);
	groups_free(&z->types);
}

/* A picture of bounded size: when it is full every other point goes, and fewer are taken. */
static void trend_add(struct zone_state *s)
{
	if (s->skipped++ % s->step)
		return;
	if (s->n_trend == TREND_N) {
		for (u32 i = 0; i < TREND_N / 2; i++)
			memcpy(s->trend[i], s->trend[2 * i], sizeof(s->trend[i]));
		s->n_trend = TREND_N / 2;
		s->step *= 2;
		s->skipped = 1;
	}
	for (u32 o = 0; o < FRAG_ORDERS; o++)
		s->trend[s->n_trend][o] = frag_pages_from(&s->last, o);
	s->n_trend++;
}

static void zone_begin(struct zone_state *s)
{
	s->first = s->last;
	s->n_trend = s->skipped = 0;
	s->step = 1;
	for (u32 o = 0; o < FRAG_ORDERS; o++)
		s->lowest[o] = UINT64_MAX;
}

static void zone_add(struct zone_state *s, const struct frag_zone *r)
{
	bool begun = s->step;

	s->last = *r;
	if (!begun)
		zone_begin(s);
	for (u32 o = 0; o < FRAG_ORDERS; o++)
		s->lowest[o] = MIN(s->lowest[o], frag_pages_from(r, o));
	trend_add(s);
}

static int frag_zone_feed(struct zones *z, const struct frag_zone *r)
{
	struct zone_key k = {.node = r->node};
	struct zone_state *s;

	snprintf(k.zone, sizeof(k.zone), "%.*s", FRAG_ZONE_NAME - 1, r->zone);
	if (z->zones.n >= STATES_MAX && !groups_find(&z->zones, &k))
		return 0;
	s = groups_get(&z->zones, &k);
	if (!s)
		return -ENOMEM;
	zone_add(s, r);
	return 0;
}

static int type_feed(struct zones *z, const struct frag_pagetype *r)
{
	struct type_key k = {.node = r->node, .migratetype = r->migratetype};
	struct type_state *s;

	snprintf(k.zone, sizeof(k.zone), "%.*s", FRAG_ZONE_NAME - 1, r->zone);
	if (z->types.n >= STATES_MAX && !groups_find(&z->types, &k))
		return 0;
	s = groups_get(&z->types, &k);
	if (!s)
		return -ENOMEM;
	if (!s->last.h.size)
		s->first = *r;
	s->last = *r;
	return 0;
}

int zones_feed(struct zones *z, const struct rec *r)
{
	if (r->kind == REC_FRAG_ZONE)
		return frag_zone_feed(z, (const struct frag_zone *)r);
	return r->kind == REC_FRAG_PAGETYPE ? type_feed(z, (const struct frag_pagetype *)r) : 0;
}

/* The next interval begins where this one ends. */
void zones_reset(struct zones *z)
{
	for (size_t i = 0; i < z->zones.n; i++) {
		struct zone_state *s = groups_value(&z->zones, i);
		struct frag_zone last = s->last;

		zone_begin(s);
		zone_add(s, &last);
	}
	for (size_t i = 0; i < z->types.n; i++) {
		struct type_state *s = groups_value(&z->types, i);

		s->first = s->last;
	}
}

const struct frag_zone *zones_of_pfn(const struct zones *z, u64 pfn)
{
	const struct frag_zone *found = NULL;

	for (size_t i = 0; i < z->zones.n; i++) {
		const struct frag_zone *zone = &zones_get(z, i)->last;

		if (pfn < zone->start_pfn || pfn - zone->start_pfn >= zone->spanned_pages)
			continue;
		if (found)
			return NULL; /* the nodes' ranges interleave */
		found = zone;
	}
	return found;
}

static void pool_add(struct frag_pool *p, const struct frag_pagetype *t, const char *type)
{
	bool atomic = !strcmp(type, "HighAtomic");

	if (!atomic && strcmp(type, "CMA") && strcmp(type, "Isolate"))
		return;
	for (u32 o = 0; o < MIN(t->orders, (u32)FRAG_ORDERS); o++) {
		p->apart_blocks[o] += t->free_blocks[o];
		p->atomic_pages += atomic ? t->free_blocks[o] << o : 0;
	}
}

struct frag_pool zones_pool(const struct zones *z, size_t i, const struct stream *s)
{
	const struct zone_key *k = groups_key(&z->zones, i);
	struct frag_pool p = {.zone = zones_get(z, i)->last};

	for (size_t t = 0; t < z->types.n; t++) {
		const struct type_key *tk = groups_key(&z->types, t);
		const struct type_state *ts = groups_value(&z->types, t);
		const char *name = stream_enum(s, "migratetype", tk->migratetype);

		if (name && tk->node == k->node && !strcmp(tk->zone, k->zone))
			pool_add(&p, &ts->last, name);
	}
	return p;
}

const char *migratetype_name(struct report *r, u32 migratetype)
{
	return report_enum(r, "migratetype", migratetype);
}

u64 page_bytes(const struct report *r)
{
	return r->stream->host.page_bytes ? r->stream->host.page_bytes : 4096;
}

static size_t bar_of(u64 n, u64 most)
{
	return most ? (size_t)((double)n / (double)most * 7 + 0.5) : 0;
}

/* Bars from zero to the most there was; NULL where all of them are the same. */
static const char *trend_draw(struct report *r, const struct zone_state *s, u32 order)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	_cleanup_str_ struct str out = {};
	u64 most = 0, least = UINT64_MAX;

	for (u32 i = 0; i < s->n_trend; i++) {
		most = MAX(most, s->trend[i][order]);
		least = MIN(least, s->trend[i][order]);
	}
	if (bar_of(least, most) == bar_of(most, most))
		return NULL;
	for (u32 i = 0; i < s->n_trend; i++)
		str_add(&out, bars[bar_of(s->trend[i][order], most)]);
	return report_text(r, "%s", str_get(&out));
}

struct zone_row {
	const struct zone_state *s;
	struct frag_pool pool;
	struct zone_blocks blocks;
	u32 order;
};

CELL_EXPR(zone_node, struct zone_row, cell_u64(e->s->last.node))
CELL_EXPR(zone_name, struct zone_row, cell_text(report_text(r, "%.16s", e->s->last.zone)))
CELL_EXPR(zone_bytes, struct zone_row, cell_u64(page_bytes(r) << e->order))
CELL_EXPR(zone_free, struct zone_row, cell_u64(e->s->last.free_blocks[e->order]))
CELL_EXPR(zone_pages, struct zone_row, cell_u64(frag_pages_from(&e->s->last, e->order)))
CELL_EXPR(zone_change, struct zone_row,
	cell_s64((s64)(frag_pages_from(&e->s->last, e->order) -
		       frag_pages_from(&e->s->first, e->order))))
CELL_EXPR(zone_lowest, struct zone_row, cell_u64(e->s->lowest[e->order]))
CELL_EXPR(zone_unusable, struct zone_row, cell_s64(extfrag_unusable(&e->blocks, e->order)))
CELL_EXPR(zone_index, struct zone_row, cell_s64(extfrag_index(&e->blocks, e->order)))
CELL_EXPR(zone_meets, struct zone_row,
	cell_text(frag_meets_name(frag_meet(&e->pool, e->order).meets)))
CELL_EXPR(zone_trend, struct zone_row, cell_text(trend_draw(r, e->s, e->order)))

static const struct cell_column zone_columns[] = {
	CELL_BY(0, "node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node", zone_node),
	CELL_BY(0, "zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone of the node", zone_name),
	CELL_NUMBER(
		struct zone_row, order, "order", "ORDER", UNIT_ID, 0, "blocks of 2^order pages"),
	CELL_BY(0, "block_bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_KEY, "size of such a block",
		zone_bytes),
	CELL_BY(0, "free_blocks", "BLOCKS", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"free blocks of this order", zone_free),
	CELL_BY(0, "free_pages", "PAGES>=", CELL_U64, UNIT_PAGES, COL_LEVEL,
		"free pages in blocks of this order and above", zone_pages),
	CELL_BY(0, "change_pages", "CHANGE", CELL_S64, UNIT_PAGES, 0,
		"how that has changed over the interval", zone_change),
	CELL_BY(0, "lowest_pages", "LOWEST", CELL_U64, UNIT_PAGES, COL_WIDE,
		"the least it was at any sample", zone_lowest),
	CELL_BY(0, "unusable_permille", "UNUSABLE", CELL_S64, UNIT_PERMILLE, 0,
		"unusable free space index: the part of free memory in smaller blocks",
		zone_unusable),
	CELL_BY(0, "index_permille", "INDEX", CELL_S64, UNIT_PERMILLE, 0,
		"fragmentation index: why an allocation of the order would fail: towards 0 for "
		"lack of memory, towards 1 for fragmentation; -1: it would not fail for either",
		zone_index),
	CELL_BY(0, "meets", "MEETS", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"what a kernel allocation of the order meets in this zone: immediate, kswapd "
		"(immediate, and kswapd is woken), compaction, reclaim, or reserved (the zone is "
		"kept for those that can use no higher one)",
		zone_meets),
	CELL_BY(0, "trend", "TREND", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"free pages of the order and above over the interval, drawn; empty: no change",
		zone_trend),
};

/* From the highest order down: the counts of pages add up, and what is scarce comes first. */
static int zone_rows(struct table *t, struct report *r, const struct zones *z, size_t i)
{
	const struct zone_state *s = zones_get(z, i);
	struct zone_row row = {s, zones_pool(z, i, r->stream), frag_blocks(&s->last),
		MIN(s->last.orders, (u32)FRAG_ORDERS)};
	int rc = 0;

	while (row.order-- > 0 && !rc)
		rc = cells_one(t, r, zone_columns, &row, NULL);
	return rc;
}

/* The biggest zones first: small ones are seldom of interest, and text shows only so many rows. */
static void zones_order(const struct zones *z, size_t *order)
{
	for (size_t i = 0; i < z->zones.n; i++) {
		u64 size = zones_get(z, i)->last.managed_pages;
		size_t at = i;

		for (; at && zones_get(z, order[at - 1])->last.managed_pages < size; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

static int zones_table(const struct zones *z, const size_t *order, struct report *r)
{
	struct table *t =
		cells_table(r, "zones", "Free blocks", zone_columns, ARRAY_SIZE(zone_columns));
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->empty = "No free block counts: /proc/buddyinfo cannot be read here.";
	for (size_t i = 0; i < z->zones.n && !rc; i++)
		rc = zone_rows(t, r, z, order[i]);
	return rc;
}

static CELL_GET(type_pages)
{
	const struct frag_pagetype *p = &((const struct type_state *)row->sums)->last;
	u64 pages = 0;

	for (u32 o = 0; o < MIN(p->orders, (u32)FRAG_ORDERS); o++)
		pages += p->free_blocks[o] << o;
	return cell_u64(pages);
}

static CELL_GET(type_largest)
{
	const struct frag_pagetype *p = &((const struct type_state *)row->sums)->last;

	for (u32 o = MIN(p->orders, (u32)FRAG_ORDERS); o-- > 0;)
		if (p->free_blocks[o])
			return cell_u64(o);
	return (struct cell){};
}

CELL_EXPR(type_zone, struct type_state, cell_text(report_text(r, "%.16s", e->last.zone)))
CELL_EXPR(type_name, struct type_state, cell_text(migratetype_name(r, e->last.migratetype)))
CELL_EXPR(type_change, struct type_state, cell_s64((s64)(e->last.pageblocks - e->first.pageblocks)))
CELL_EXPR(type_mixed, struct type_state,
	e->last.flags &FRAG_MIXED ? cell_u64(e->last.mixed_pageblocks) : (struct cell){})

static const struct cell_column type_columns[] = {
	CELL_NUMBER(struct type_state, last.node, "node", "NODE", UNIT_ID, 0, "NUMA node"),
	CELL_BY(0, "zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone of the node", type_zone),
	CELL_BY(0, "migratetype", "MIGRATETYPE", CELL_TEXT, UNIT_NONE, 0,
		"migratetype; those that have nothing in a zone are left out", type_name),
	CELL_BY(0, "free_pages", "FREE PAGES", CELL_U64, UNIT_PAGES, COL_LEVEL,
		"free pages on the lists of this type (a lower bound where the kernel stops "
		"counting, at 100,000 blocks of an order)",
		type_pages),
	CELL_BY(0, "largest_order", "LARGEST ORDER", CELL_U64, UNIT_ID, 0,
		"order of the largest free block", type_largest),
	CELL_NUMBER(struct type_state, last.pageblocks, "pageblocks", "PAGEBLOCKS", UNIT_COUNT,
		COL_LEVEL, "pageblocks of this type"),
	CELL_BY(0, "change_pageblocks", "CHANGE", CELL_S64, UNIT_COUNT, 0,
		"how many more or fewer than at the start of the interval", type_change),
	CELL_BY(0, "mixed_pageblocks", "MIXED", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"of these, with pages of another type (only with page_owner=on)", type_mixed),
};

static u64 last_zone_ns(const struct zones *z)
{
	return z->zones.n ? zones_get(z, 0)->last.h.time_ns : 0;
}

static bool type_is_empty(const struct type_state *s)
{
	u64 any = s->first.pageblocks | s->last.pageblocks;

	for (u32 o = 0; o < FRAG_ORDERS; o++)
		any |= s->last.free_blocks[o];
	return !any;
}

static int zone_types(struct table *t, struct report *r, const struct zones *z, size_t zone)
{
	const struct zone_key *of = groups_key(&z->zones, zone);

	int rc = 0;

	for (size_t i = 0; i < z->types.n && !rc; i++) {
		const struct type_key *k = groups_key(&z->types, i);
		const struct type_state *s = groups_value(&z->types, i);

		if (k->node == of->node && !strcmp(k->zone, of->zone) && !type_is_empty(s))
			rc = cells_one(t, r, type_columns, s, NULL);
	}
	return rc;
}

static struct table *types_begin(struct report *r)
{
	return cells_table(r, "pagetypes", "Migratetypes", type_columns, ARRAY_SIZE(type_columns));
}

static int types_table(const struct zones *z, const size_t *order, struct report *r)
{
	struct table *t = types_begin(r);
	const struct type_state *any = groups_value(&z->types, 0);
	u64 now = last_zone_ns(z), read_ns = any->last.h.time_ns;
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < z->zones.n && !rc; i++)
		rc = zone_types(t, r, z, order[i]);
	if (now > read_ns && now - read_ns > OLD_NS)
		report_note(r,
			"Migratetypes are as of %.0f s before the end: reading them is slow here.",
			(double)(now - read_ns) / NSEC_PER_SEC);
	return rc;
}

/* Calls a table's filler with the zones in the order they are shown in. */
static int ordered(const struct zones *z, struct report *r,
	int (*fill)(const struct zones *z, const size_t *order, struct report *r))
{
	_cleanup_free_ size_t *order = calloc(z->zones.n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	zones_order(z, order);
	return fill(z, order, r);
}

int zones_report(const struct zones *z, struct report *r)
{
	return ordered(z, r, zones_table);
}

int types_report(const struct zones *z, struct report *r)
{
	if (z->types.n)
		return ordered(z, r, types_table);
	return types_begin(r) ? 0 : -ENOMEM;
}

const struct view_table zones_tables[] = {
	CELLS_VIEW("zones", zone_columns),
	CELLS_VIEW("pagetypes", type_columns),
	{},
};
