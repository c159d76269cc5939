/* How the live bytes of processes went, in bounded room: the table of growth. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_GROWTH_H
#define MEMWHY_PROBES_HEAP_VIEW_GROWTH_H

#include "probes/heap/heap.h"
#include "report/view.h"

#define GROWTH_SPANS 16 /* when there are twice as many, two are joined */

/* How a process stood at the end of a span. */
struct growth_mark {
	u64 time_ns;
	u64 live_bytes, allocations, bytes;
};

struct heap_growth {
	u32 n;        /* marks that stay */
	u32 per_span; /* records in a span; 0: there was none yet */
	u32 in_span;
	struct growth_mark begin;
	struct growth_mark v[2 * GROWTH_SPANS]; /* v[n]: of the present span */
};

extern const struct view_table heap_growth_tables[];

struct table *heap_growth_table(struct report *r);
void heap_growth_add(struct heap_growth *g, const struct heap_total *t);
/* Rows of a process; none of one that was seen only for a moment. -ENOMEM */
int heap_growth_rows(struct table *t, struct report *r, const struct heap_growth *g,
	const struct heap_total *of);
/* The next interval begins. */
void heap_growth_reset(struct heap_growth *g);

#endif
