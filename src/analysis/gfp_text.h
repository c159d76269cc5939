/*
 * Allocation flags (gfp_t) as text, by the names that the stream has for them (REC_ENUM set
 * GFP_SET, see capture/gfp_names.h).
 */
#ifndef MEMWHY_ANALYSIS_GFP_TEXT_H
#define MEMWHY_ANALYSIS_GFP_TEXT_H

#include "analysis/cells.h"

#define GFP_NAMES_MAX 128 /* that are looked at */

/* The bits of a mask that choose the migratetype of the page: __GFP_MOVABLE and __GFP_RECLAIMABLE,
 * the same from 5.10 to 7.3 (include/linux/gfp_types.h). */
#define GFP_MOBILITY 0x18U

/* The migratetype that a mask asks for, as gfp_migratetype() in include/linux/gfp.h has it. */
const char *gfp_migratetype(u64 mask);

/* Appends "GFP_KERNEL|__GFP_COMP": the largest composite first, bits without a name in hex,
 * "none" for 0. In hex altogether when the stream has no names. */
void gfp_add(struct str *out, const struct stream *s, u64 mask);
/* The same, owned by the report. */
const char *gfp_text(struct report *r, u64 mask);
/* A u32 of the key or the record that is a mask: as text, and the migratetype it asks for. */
cell_get gfp_cell, gfp_migratetype_cell;

#endif
