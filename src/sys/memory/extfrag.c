/* See extfrag.h. */
#include "sys/memory/extfrag.h"

#include "sys/root.h"
#include "sys/scan.h"

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

void extfrag_free(struct extfrag *table)
{
	vec_free(&table->rows);
}

/* The kernel prints index / 1000 and index % 1000 with "%d.%03d", so that -500 is " 0.-500". */
static bool value_parse(struct scan *s, s32 *ret)
{
	struct scan at = *s;
	s64 whole;
	s64 part;

	if (!scan_s64(&at, &whole) || scan_done(&at) || *at.p != '.')
		return false;
	at.p++;
	if (!scan_s64(&at, &part) || whole < -1000 || whole > 1000 || part < -999 || part > 999)
		return false;
	*s = at;
	*ret = (s32)(whole * 1000 + part);
	return true;
}

int extfrag_parse(const char *text, struct extfrag *ret)
{
	_cleanup_extfrag_ struct extfrag table = {};
	struct scan s;

	while (table.rows.n < ZONES_MAX && scan_line(&text, &s)) {
		struct extfrag_row row = {};

		if (!scan_zone(&s, &row.id))
			continue;
		while (row.orders < PAGE_ORDERS_MAX && value_parse(&s, &row.value[row.orders]))
			row.orders++;
		if (row.orders && vec_push(&table.rows, row))
			return -ENOMEM;
	}
	if (!table.rows.n)
		return -EINVAL;
	extfrag_free(ret);
	*ret = table;
	table = (struct extfrag){};
	return 0;
}

static int extfrag_table_read(const char *name, struct extfrag *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/sys/kernel/debug/extfrag/%s", name);

	return rc ? rc : extfrag_parse(str_get(&text), ret);
}

int extfrag_index_read(struct extfrag *ret)
{
	return extfrag_table_read("extfrag_index", ret);
}

int extfrag_unusable_read(struct extfrag *ret)
{
	return extfrag_table_read("unusable_index", ret);
}
