/* The table "allocate": what an allocation meets on each node now. Private to the view. */
#ifndef MEMWHY_PROBES_FRAG_ALLOCATE_H
#define MEMWHY_PROBES_FRAG_ALLOCATE_H

#include "probes/frag/frag_zones.h"

extern const struct view_table allocate_tables[];

/* pageblock_order: 0: not known. */
int allocate_report(const struct zones *z, u32 pageblock_order, struct report *r);

#endif
