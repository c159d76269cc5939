/* The table of processes. */
#ifndef MEMWHY_PROBES_HEAP_PROCESSES_H
#define MEMWHY_PROBES_HEAP_PROCESSES_H

#include "probes/heap/heap.h"
#include "report/report.h"

#define HEAP_PROCESS_COLUMNS 19

extern const struct column heap_process_columns[HEAP_PROCESS_COLUMNS];

void heap_process_fill(struct cell *row, struct report *r, const struct heap_total *t);

#endif
