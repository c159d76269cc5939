/*
 * Watermarks, sizes and per-cpu lists of each zone, from /proc/zoneinfo. Owns the format.
 */
#ifndef MEMWHY_SYS_ZONEINFO_H
#define MEMWHY_SYS_ZONEINFO_H

#include "base/vec.h"
#include "sys/memory/zone.h"

#define ZONE_PROTECTION_MAX 8

/* All sizes in pages. A zone with present_pages 0 is not populated: only its first lines exist. */
struct zoneinfo_zone {
	struct zone_id id;
	u64 free_pages;
	u64 boost_pages; /* added to each watermark after a fallback; not shown by 5.10 */
	u64 min_pages;
	u64 low_pages;
	u64 high_pages;
	u64 promo_pages; /* not shown by 6.1 */
	u64 spanned_pages;
	u64 present_pages;
	u64 managed_pages;
	u64 cma_pages; /* not shown by 5.10 */
	u64 free_cma_pages;
	u64 inactive_anon_pages;
	u64 active_anon_pages;
	u64 inactive_file_pages;
	u64 active_file_pages;
	u64 unevictable_pages;
	u64 mlock_pages;
	u64 numa_hit; /* allocations, since boot */
	u64 numa_miss;
	u64 numa_foreign;
	u64 numa_local;
	u64 numa_other;
	u64 start_pfn;
	u64 node_unreclaimable; /* 1: kswapd gave this node up after 16 fruitless runs */
	/* lowmem_reserve: pages kept from allocations that could have used zone i of the node. */
	u64 protection_pages[ZONE_PROTECTION_MAX];
	u32 protections;
	/* The per-cpu lists: of all cpus together, but the batch, which is the biggest one. */
	u32 pcp_cpus;
	u64 pcp_count_pages;
	u64 pcp_high_pages;
	u64 pcp_batch_pages;
};

/* To be zeroed before its first use. */
struct zoneinfo {
	VEC(struct zoneinfo_zone) zones; /* also those that are not populated */
};

#define _cleanup_zoneinfo_ _cleanup_(zoneinfo_free)

void zoneinfo_free(struct zoneinfo *info);
/* Replaces what ret held. Unknown lines are skipped and missing ones leave 0; -EINVAL without any
 * zone, -ENOMEM. */
int zoneinfo_parse(const char *text, struct zoneinfo *ret);
int zoneinfo_read(struct zoneinfo *ret);
/* NULL where there is no such zone. */
const struct zoneinfo_zone *zoneinfo_find(const struct zoneinfo *info, const struct zone_id *id);

#endif
