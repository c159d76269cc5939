/* What programs mapped by themselves: the table of mappings, and what the table of processes shows
 * of it. Private to the view. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_MAPPINGS_VIEW_H
#define MEMWHY_PROBES_HEAP_VIEW_MAPPINGS_VIEW_H

#include "analysis/by.h"
#include "probes/heap/heap.h"

struct heap_mappings {
	struct by_sums sums;
	struct groups sites, mapped; /* the latest record of each, and as the interval began */
};

extern const struct view_table heap_mapping_tables[];

int heap_mappings_init(struct heap_mappings *m, const struct view *v, const struct view_options *o,
	struct err *err);
int heap_mapping_feed(struct heap_mappings *m, const struct heap_mapping *r);
int heap_mapped_feed(struct heap_mappings *m, const struct heap_mapped *r);
/* Of a process; NULL: it mapped nothing. */
const struct heap_mapped *heap_mapped_find(const struct heap_mappings *m, u32 process);
/* total_of: what is known of a process by its number, or NULL. */
int heap_mappings_report(struct heap_mappings *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg);
void heap_mappings_reset(struct heap_mappings *m);
void heap_mappings_free(struct heap_mappings *m);

#endif
