/*
 * Zones, and counts per page order in a zone: the shape that buddyinfo, pagetypeinfo, extfrag
 * and zoneinfo share. Types only.
 */
#ifndef MEMWHY_SYS_ZONE_H
#define MEMWHY_SYS_ZONE_H

#include <string.h>

#include "base/types.h"
#include "base/util.h"

#define ZONE_NAME_MAX 16
/* Orders of a free area. x86-64 has 11 (0 to MAX_PAGE_ORDER 10), arm64 with 64 KiB pages 14. */
#define PAGE_ORDERS_MAX 20
/* No kernel has more nodes (NODES_SHIFT is at most 10). */
#define NODES_MAX 1024
/* Rows kept of one file; what comes after them is ignored. */
#define ZONES_MAX (NODES_MAX * 6)

struct zone_id {
	u32 node;
	char zone[ZONE_NAME_MAX];
};

static inline bool zone_id_equal(const struct zone_id *a, const struct zone_id *b)
{
	return a->node == b->node && !strcmp(a->zone, b->zone);
}

/* Free blocks of each order in a zone: blocks[o] blocks of 2^o pages, o < orders. */
struct zone_blocks {
	struct zone_id id;
	u32 orders;
	u64 blocks[PAGE_ORDERS_MAX];
};

#endif
