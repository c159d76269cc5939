/* Allocations that took a block of another migratetype, as tables. Private to the view. */
#ifndef MEMWHY_PROBES_FRAG_EVENTS_H
#define MEMWHY_PROBES_FRAG_EVENTS_H

#include "analysis/by.h"
#include "probes/frag/frag_zones.h"

#define FRAG_EVENTS_DATA "fragmenting allocations" /* as the attach plan calls them */

struct events {
	struct by_sums sums;
	u32 pageblock_order; /* 0: not known yet */
	bool wants_each;
	VEC(struct frag_event) each;
};

extern const struct view_table events_tables[];
extern const char *const events_by_keys[];
#define EVENTS_BY_DEFAULT "process,order,migratetype"

/* v: the view whose keys are these. */
int events_init(
	struct events *e, const struct view *v, const struct view_options *o, struct err *err);
int events_feed(struct events *e, const struct rec *r);
int events_report(struct events *e, struct report *r);
/* --each; the zones say where a page lies. */
struct table *events_each(struct events *e, const struct zones *z, struct report *r);
void events_free(struct events *e);

#endif
