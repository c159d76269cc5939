/* The table of processes. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_PROCESSES_H
#define MEMWHY_PROBES_HEAP_VIEW_PROCESSES_H

#include "probes/heap/heap.h"
#include "report/view.h"

extern const struct view_table heap_process_tables[];

struct table *heap_process_table(struct report *r);
/* mapped: NULL where nothing is known of it. -ENOMEM */
int heap_process_row(struct table *t, struct report *r, const struct heap_total *total,
	const struct heap_mapped *mapped);

#endif
