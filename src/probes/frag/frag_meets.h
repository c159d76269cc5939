/*
 * What an allocation would meet in a zone right now: a page at once, reclaim, or compaction.
 * Reproduces the allocator's own decision from the zone's numbers. Knows no report.
 *
 * The allocation may sleep, has no right to the reserves and cannot use CMA (GFP_KERNEL). The rule,
 * in mm/page_alloc.c and mm/compaction.c from 5.10 to 6.18:
 *
 * - get_page_from_freelist() calls __zone_watermark_ok() first with the low watermark and, after
 *   waking kswapd, with min. That requires, for an order and a mark: free pages, without CMA,
 *   without those reserved for atomic allocations and without 2^order - 1, above the mark and the
 *   zone's lowmem_reserve for the highest zone the allocation may use; and a free block of the
 *   order or above, of a migratetype that falls back to others.
 * - If that fails, __alloc_pages_slowpath() compacts for an order above 0 if compaction_suitable()
 *   expects it to help: free pages above the min watermark (low for orders above
 *   PAGE_ALLOC_COSTLY_ORDER) and 2^(order + 1) more, for the copies; and, for those costly orders,
 *   a fragmentation index above vm.extfrag_threshold. Otherwise it reclaims.
 *
 * Left out: the page allocator's per-cpu lists, which may hold a page of a low order; cpusets;
 * vm.zone_reclaim_mode; and kernels before 6.12, which treat all pageblocks reserved for atomic
 * allocations as used, not only what is free in them.
 */
#ifndef MEMWHY_PROBES_FRAG_MEETS_H
#define MEMWHY_PROBES_FRAG_MEETS_H

#include "probes/frag/frag.h"
#include "sys/memory/zone.h"

#define FRAG_COSTLY_ORDER 3 /* PAGE_ALLOC_COSTLY_ORDER */

/* From best to worst. */
enum frag_meets {
	MEETS_UNKNOWN,
	MEETS_IMMEDIATE,  /* a page at once */
	MEETS_KSWAPD,     /* a page at once, and kswapd is woken */
	MEETS_COMPACTION, /* the caller compacts */
	MEETS_RECLAIM,    /* the caller reclaims */
	MEETS_RESERVED,   /* the zone is kept for those that can use no higher one */
	MEETS_N,
};

enum frag_why {
	WHY_UNKNOWN,
	WHY_ABOVE_LOW,
	WHY_RESERVED,
	WHY_BELOW_LOW,
	WHY_NO_BLOCK, /* enough is free, in smaller blocks */
	WHY_BELOW_MIN,
	WHY_NO_ROOM,       /* no block, and too little is free to compact */
	WHY_SHORT,         /* no block, and the index says that memory is short */
	WHY_NO_COMPACTION, /* no block, and the kernel cannot compact */
};

/* A zone and what of its free memory an ordinary allocation may not have. */
struct frag_pool {
	struct frag_zone zone;
	u64 apart_blocks[FRAG_ORDERS]; /* in CMA, isolated, or kept for atomic allocations */
	u64 atomic_pages;              /* kept for atomic allocations */
};

struct frag_answer {
	enum frag_meets meets;
	enum frag_why why;
	s64 free_pages; /* that count against the marks */
	u64 low_pages;  /* the marks with the reserve on top */
	u64 min_pages;
	u64 room_pages; /* that must be free to compact */
	int index;      /* fragmentation index */
};

/* The free blocks of a zone, as sys/memory/extfrag.h takes them. */
struct zone_blocks frag_blocks(const struct frag_zone *zone);
/* Free pages in blocks of this order and above. */
u64 frag_pages_from(const struct frag_zone *zone, u32 order);
struct frag_answer frag_meet(const struct frag_pool *pool, u32 order);
/* "immediate", "kswapd", "compaction", "reclaim", "reserved"; NULL: not known. */
const char *frag_meets_name(enum frag_meets meets);

#endif
