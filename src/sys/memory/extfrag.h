/*
 * How fragmented free memory is, by the kernel's own two indices, computed from free block counts.
 *
 * The formulas are those of mm/vmstat.c (fill_contig_page_info(), unusable_free_index() and
 * __fragmentation_index(); the same from 2.6.35 to 6.18), in the same integer arithmetic, in
 * 1/1000. One difference: the kernel divides by a free page or block count cut to 32 bits, which
 * is wrong for a zone with 16 TiB free or more; here it is not cut.
 */
#ifndef MEMWHY_SYS_EXTFRAG_H
#define MEMWHY_SYS_EXTFRAG_H

#include "base/vec.h"
#include "sys/memory/zone.h"

/* What the fragmentation index is when a free block of the order is there. */
#define EXTFRAG_WOULD_SUCCEED (-1000)

/* The share of free memory that is in blocks too small for this order: 0 to 1000. With nothing
 * free, 1000. */
int extfrag_unusable(const struct zone_blocks *zone, u32 order);

/*
 * Why an allocation of this order would fail: towards 0 lack of memory, towards 1000
 * fragmentation (above vm.extfrag_threshold the kernel compacts instead of reclaiming).
 * EXTFRAG_WOULD_SUCCEED when it would not fail; 0 when nothing is free, and for orders that the
 * zone does not have. With very few free blocks it can be a little below 0, down to -500.
 */
int extfrag_index(const struct zone_blocks *zone, u32 order);

#endif
