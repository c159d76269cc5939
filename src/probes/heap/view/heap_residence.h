/* Page faults and resident memory (--faults): the table by who asked for it, and the one of what
 * was looked at. Private to the view. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_RESIDENCE_VIEW_H
#define MEMWHY_PROBES_HEAP_VIEW_RESIDENCE_VIEW_H

#include "analysis/by.h"
#include "probes/heap/heap.h"

struct heap_residences {
	struct by_sums sums;
	struct groups places, looked; /* the latest record of each, and as the interval began */
};

extern const struct view_table heap_residence_tables[];

int heap_residences_init(struct heap_residences *m, const struct view *v,
	const struct view_options *o, struct err *err);
int heap_residence_feed(struct heap_residences *m, const struct heap_residence *r);
int heap_looked_feed(struct heap_residences *m, const struct heap_looked *r);
/* total_of: what is known of a process by its number, or NULL. */
int heap_residences_report(struct heap_residences *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg);
void heap_residences_reset(struct heap_residences *m);
void heap_residences_free(struct heap_residences *m);

#endif
