/* The sums of the main table of maps, by the keys of --by. Private to the view. */
#ifndef MEMWHY_PROBES_MAPS_SUMS_H
#define MEMWHY_PROBES_MAPS_SUMS_H

#include "analysis/by.h"
#include "analysis/durations.h"
#include "probes/maps/maps_tables.h"

struct maps_by_key {
	struct by_task_key task;
	u64 object, length;
	u32 detail, error;
	u32 call, kind;
};

struct maps_sums {
	u64 count, failed, length, added, taken, heap_added, heap_taken, mixed;
	u64 held; /* signed */
	bool held_known;
	struct durations durations;
};

extern const char *const maps_by_keys[];
extern const struct view_table maps_sums_tables[];

int maps_sums_init(struct by_sums *s, const struct view_options *o, struct err *err);
int maps_sums_feed(struct by_sums *s, const struct maps_agg *r);
int maps_sums_report(struct by_sums *s, const struct maps_tables *t, struct report *r);

#endif
