/* See extfrag.h. */
#include "sys/memory/extfrag.h"

/* Free memory of a zone, seen by an allocation of one order. */
struct contig {
	u64 pages;
	u64 blocks;
	u64 suitable; /* allocations of the order that the large enough blocks could serve */
};

static struct contig contig_of(const struct zone_blocks *zone, u32 order)
{
	struct contig c = {};

	for (u32 o = 0; o < zone->orders; o++) {
		c.blocks += zone->blocks[o];
		c.pages += zone->blocks[o] << o;
		if (o >= order)
			c.suitable += zone->blocks[o] << (o - order);
	}
	return c;
}

int extfrag_unusable(const struct zone_blocks *zone, u32 order)
{
	struct contig c;

	if (order >= zone->orders)
		return 1000;
	c = contig_of(zone, order);
	if (!c.pages)
		return 1000;
	return (int)((c.pages - (c.suitable << order)) * 1000 / c.pages);
}

int extfrag_index(const struct zone_blocks *zone, u32 order)
{
	struct contig c;

	if (order >= zone->orders)
		return 0;
	c = contig_of(zone, order);
	if (!c.blocks)
		return 0;
	if (c.suitable)
		return EXTFRAG_WOULD_SUCCEED;
	return (int)(s64)(1000 - (1000 + c.pages * 1000 / (1ULL << order)) / c.blocks);
}
