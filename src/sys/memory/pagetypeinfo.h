/*
 * Free blocks per order and migratetype, and pageblocks per migratetype, from
 * /proc/pagetypeinfo. Owns the format.
 *
 * Reading the file holds each zone's lock while the kernel walks its free lists: not something to
 * do more than once in a second or so on a big machine. It is readable by root only (0400).
 */
#ifndef MEMWHY_SYS_PAGETYPEINFO_H
#define MEMWHY_SYS_PAGETYPEINFO_H

#include "base/vec.h"
#include "sys/memory/zone.h"

/* "Unmovable", "Movable", "Reclaimable", "HighAtomic", "CMA", "Isolate". */
#define MIGRATETYPE_NAME_MAX 16
#define MIGRATETYPES_MAX 16

struct pagetype_free {
	struct zone_id id;
	char type[MIGRATETYPE_NAME_MAX];
	u32 orders;
	u32 clamped; /* bit o: blocks[o] is a lower bound. The kernel stops counting at 100,000. */
	u64 blocks[PAGE_ORDERS_MAX];
};

struct pagetype_blocks {
	struct zone_id id;
	char type[MIGRATETYPE_NAME_MAX];
	u64 pageblocks;
};

/* To be zeroed before its first use. */
struct pagetypeinfo {
	int pageblock_order; /* -1 where the file does not say */
	u64 pages_per_block;
	VEC(struct pagetype_free) free;
	VEC(struct pagetype_blocks) blocks;
	VEC(struct pagetype_blocks) mixed; /* only with page_owner=on: blocks holding other types */
};

#define _cleanup_pagetypeinfo_ _cleanup_(pagetypeinfo_free)

void pagetypeinfo_free(struct pagetypeinfo *info);
/* Replaces what ret held. Lines of another form are skipped; -EINVAL when there is no line of
 * free counts, -ENOMEM. */
int pagetypeinfo_parse(const char *text, struct pagetypeinfo *ret);
/* -EACCES unless root. */
int pagetypeinfo_read(struct pagetypeinfo *ret);

#endif
