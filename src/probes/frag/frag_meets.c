/* See frag_meets.h. */
#include "probes/frag/frag_meets.h"

#include "sys/memory/extfrag.h"

struct zone_blocks frag_blocks(const struct frag_zone *zone)
{
	struct zone_blocks b = {.id.node = zone->node};

	b.orders = MIN(zone->orders, (u32)FRAG_ORDERS);
	memcpy(b.blocks, zone->free_blocks, sizeof(b.blocks));
	return b;
}

u64 frag_pages_from(const struct frag_zone *zone, u32 order)
{
	u64 pages = 0;

	for (u32 o = order; o < MIN(zone->orders, (u32)FRAG_ORDERS); o++)
		pages += zone->free_blocks[o] << o;
	return pages;
}

static u64 reserve_of(const struct frag_zone *z)
{
	u32 highest = MAX(z->index, z->kernel_index);

	return highest < FRAG_ZONES ? z->reserve_pages[highest] : 0;
}

static bool block_is_there(const struct frag_pool *p, u32 order)
{
	for (u32 o = order; o < MIN(p->zone.orders, (u32)FRAG_ORDERS); o++)
		if (p->zone.free_blocks[o] > p->apart_blocks[o])
			return true;
	return !order; /* the kernel does not look for single pages */
}

/* Neither mark lets it through: can the caller compact, or must it reclaim, and why? */
static enum frag_why why_slow(const struct frag_pool *p, u32 order, const struct frag_answer *a)
{
	const struct frag_zone *z = &p->zone;
	s64 free = (s64)(z->free_pages - p->atomic_pages); /* the copies may go to CMA */

	if (!order)
		return WHY_BELOW_MIN;
	if (!(z->flags & FRAG_COMPACTION))
		return WHY_NO_COMPACTION;
	if (free <= (s64)a->room_pages)
		return a->free_pages <= (s64)a->min_pages ? WHY_BELOW_MIN : WHY_NO_ROOM;
	if (order > FRAG_COSTLY_ORDER && a->index >= 0 && a->index <= (int)z->threshold)
		return WHY_SHORT;
	return WHY_NO_BLOCK;
}

struct frag_answer frag_meet(const struct frag_pool *p, u32 order)
{
	const struct frag_zone *z = &p->zone;
	struct zone_blocks blocks = frag_blocks(z);
	struct frag_answer a = {.index = extfrag_index(&blocks, order)};
	bool block = block_is_there(p, order);

	if (!(z->flags & FRAG_MARKS) || order >= blocks.orders)
		return a;
	a.low_pages = z->low_pages + reserve_of(z);
	a.min_pages = z->min_pages + reserve_of(z);
	a.room_pages = (order > FRAG_COSTLY_ORDER ? a.low_pages : a.min_pages) + (2ULL << order);
	a.free_pages = (s64)(z->free_pages - z->cma_pages - p->atomic_pages + 1 - (1ULL << order));
	if (block && a.free_pages > (s64)a.low_pages) {
		a.meets = MEETS_IMMEDIATE;
		a.why = WHY_ABOVE_LOW;
	} else if (block && a.free_pages > (s64)a.min_pages) {
		a.meets = MEETS_KSWAPD;
		a.why = WHY_BELOW_LOW;
	} else if (block && a.free_pages > (s64)z->low_pages) {
		a.meets = MEETS_RESERVED;
		a.why = WHY_RESERVED;
	} else {
		a.why = why_slow(p, order, &a);
		a.meets = a.why == WHY_NO_BLOCK ? MEETS_COMPACTION : MEETS_RECLAIM;
	}
	return a;
}

const char *frag_meets_name(enum frag_meets meets)
{
	static const char *const names[MEETS_N] = {
		NULL,
		"immediate",
		"kswapd",
		"compaction",
		"reclaim",
		"reserved",
	};

	return meets < MEETS_N ? names[meets] : NULL;
}
