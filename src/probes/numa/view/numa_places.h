/* Where the memory of the processes is that were asked for, whoever touches it: the pages of their
 * mappings by node, as they were when last looked at (numa_place.h). */
#ifndef MEMWHY_PROBES_NUMA_VIEW_PLACES_H
#define MEMWHY_PROBES_NUMA_VIEW_PLACES_H

#include "probes/numa/judge/numa_groups.h"
#include "report/view.h"

/* By what it is of, and in all. */
struct numa_places_held {
	struct groups sites; /* struct numa_site to u64[NUMA_NODES], in bytes */
	u64 bytes[NUMA_NODES];
	bool any;
};

extern const struct view_table numa_place_tables[];

/* 0 or -ENOMEM; to be freed in any case. */
int numa_places_sum(const struct numa_feed *f, struct numa_places_held *ret);
void numa_places_free(struct numa_places_held *h);
int numa_places_report(
	struct report *r, const struct numa_feed *f, const struct numa_places_held *h);

#endif
