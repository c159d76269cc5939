/* Allocations that took a block of another migratetype, as tables. Private to the view. */
#ifndef MEMWHY_PROBES_FRAG_EVENTS_H
#define MEMWHY_PROBES_FRAG_EVENTS_H

#include "probes/frag/frag_zones.h"
#include "report/view.h"

#define EVENT_COLUMNS 12
#define FRAG_EVENTS_DATA "fragmenting allocations" /* as the attach plan calls them */

struct events {
	u32 by;
	u32 pageblock_order; /* 0: not known yet */
	struct groups groups;
	struct column cols[EVENT_COLUMNS];
	size_t col_index[EVENT_COLUMNS];
	size_t n_cols;
	VEC(struct frag_event) each;
};

extern const struct view_table events_tables[];
extern const char *const events_by_keys[];
#define EVENTS_BY_DEFAULT "process,order,migratetype"

int events_init(struct events *e, const struct view_options *o, struct err *err);
int events_feed(struct events *e, const struct rec *r);
int events_report(const struct events *e, struct report *r);
/* --each; the zones say where a page lies. */
struct table *events_each(struct events *e, const struct zones *z, struct report *r);
void events_free(struct events *e);

#endif
