/*
 * The zones over the interval: the first and last sample of each, what came between as a trend,
 * and the migratetypes in them. Shows the tables "zones" and "pagetypes". Private to the view.
 */
#ifndef MEMWHY_PROBES_FRAG_ZONES_H
#define MEMWHY_PROBES_FRAG_ZONES_H

#include "base/groups.h"
#include "probes/frag/frag_meets.h"
#include "report/view.h"

#define TREND_N 16

struct zone_key {
	u32 node;
	char zone[FRAG_ZONE_NAME];
};

struct zone_state {
	struct frag_zone first, last;
	u64 lowest[FRAG_ORDERS]; /* the least free pages from this order on */
	/* Free pages from each order on, at every `step`th sample. */
	u64 trend[TREND_N][FRAG_ORDERS];
	u32 n_trend, step, skipped;
};

struct type_key {
	u32 node;
	u32 migratetype;
	char zone[FRAG_ZONE_NAME];
};

struct type_state {
	struct frag_pagetype first, last;
};

struct zones {
	struct groups zones; /* zone_key to zone_state */
	struct groups types; /* type_key to type_state */
};

extern const struct view_table zones_tables[];

void zones_init(struct zones *z);
int zones_feed(struct zones *z, const struct rec *r);
void zones_reset(struct zones *z);
void zones_free(struct zones *z);

static inline const struct zone_state *zones_get(const struct zones *z, size_t i)
{
	return groups_value(&z->zones, i);
}

/* The zone a page lies in; NULL where none or several say so. */
const struct frag_zone *zones_of_pfn(const struct zones *z, u64 pfn);
/* A zone as it was last, for frag_meet(); the stream names the migratetypes. */
struct frag_pool zones_pool(const struct zones *z, size_t i, const struct stream *s);
/* "Movable"; "3" where the kernel's names are not known. */
const char *migratetype_name(struct report *r, u32 migratetype);
u64 page_bytes(const struct report *r);

int zones_report(const struct zones *z, struct report *r);
int types_report(const struct zones *z, struct report *r);

#endif
