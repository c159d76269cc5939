/* The table of processes. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_PROCESSES_H
#define MEMWHY_PROBES_HEAP_VIEW_PROCESSES_H

#include "probes/heap/heap.h"
#include "report/report.h"

#define HEAP_PROCESS_COLUMNS 23

extern const struct column heap_process_columns[HEAP_PROCESS_COLUMNS];

/* mapped: NULL where nothing is known of it. */
void heap_process_fill(struct cell *row, struct report *r, const struct heap_total *t,
	const struct heap_mapped *mapped);

#endif
