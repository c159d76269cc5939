/* The tables beside the call sites: caches, events, crossings. Private to the view. */
#ifndef MEMWHY_PROBES_SLAB_TABLES_H
#define MEMWHY_PROBES_SLAB_TABLES_H

#include "analysis/cells.h"
#include "probes/slab/slab.h"
#include "report/view.h"

struct slab_tables {
	bool live; /* objects are followed */
	struct groups caches, cache_live, usage, events, crossings;
	u64 freed; /* objects whose allocation was seen */
};

extern const struct view_table slab_side_tables[];

void slab_tables_init(struct slab_tables *t, bool live);
int slab_tables_feed(struct slab_tables *t, const struct rec *r);
int slab_caches_report(struct slab_tables *t, struct report *r);
int slab_tables_report(struct slab_tables *t, struct report *r);
void slab_tables_reset(struct slab_tables *t);
void slab_tables_free(struct slab_tables *t);

/* What both the caches and the sites count: sums over records. */
struct slab_sums {
	u64 allocations, failed, charged; /* failed ones are not in allocations */
	u64 frees;                        /* without those of NULL pointers */
	u64 untracked_frees;              /* of objects whose allocation was not seen */
	u64 requested_bytes, allocated_bytes;
};

/* Objects that are still there, since the start; never reset. */
struct slab_live {
	s64 objects, bytes; /* allocated */
	u64 untracked;
};

void slab_sums_add(struct slab_sums *s, const struct slab_agg *r);
void slab_live_add(struct slab_live *l, const struct slab_agg *r);
/* The cells that both have, of a row whose sums begin with struct slab_sums. */
cell_get slab_rate_cell, slab_waste_cell, slab_waste_ratio_cell, slab_charged_cell;
/* "(large)" where no cache has the object. */
struct cell slab_cache_cell(struct report *r, const char *name, bool large);
/* A signed number as a cell; what is below 0 by the edges of the interval is 0. */
struct cell slab_live_cell(s64 v);

#endif
