/* The columns of the table of heaps. Private to the view. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_COLUMNS_H
#define MEMWHY_PROBES_HEAP_VIEW_COLUMNS_H

#include "analysis/by.h"
#include "probes/heap/heap.h"

/* What rows add up, of stacks, processes and threads alike. */
struct heap_sums {
	u64 allocations, bytes, frees, temporary, moved;
	u64 live_blocks, live_bytes, peak_blocks, peak_bytes;
	u64 slack_bytes, life_ms;
	u32 max_life_ms, min_bytes, max_bytes;
	double live_variance, peak_variance, variance;
	u64 lives[HEAP_TIMES];     /* as in heap_site */
	bool of_sites, of_threads; /* what only these know */
	bool sampled, attached;
};

extern const struct by_spec heap_spec; /* by struct by_task_key */
extern const struct view_table heap_sum_tables[];

#endif
