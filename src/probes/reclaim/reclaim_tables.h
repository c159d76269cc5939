/* The tables beside the stalls: LRU lists, kswapd, shrinkers, throttling. Private to the view. */
#ifndef MEMWHY_PROBES_RECLAIM_TABLES_H
#define MEMWHY_PROBES_RECLAIM_TABLES_H

#include "base/groups.h"
#include "report/view.h"

struct reclaim_tables {
	struct groups lru, kswapd, shrinkers, throttle;
};

extern const struct view_table reclaim_side_tables[];

void reclaim_tables_init(struct reclaim_tables *t);
int reclaim_tables_feed(struct reclaim_tables *t, const struct rec *r);
int reclaim_tables_report(const struct reclaim_tables *t, struct report *r);
void reclaim_tables_reset(struct reclaim_tables *t);
void reclaim_tables_free(struct reclaim_tables *t);

#endif
