/* The columns of the table of heaps, and a row of them. Private to the view. */
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

enum {
	C_PEAK = BY_C_OWN,
	C_PEAK_ERROR,
	C_PEAK_BLOCKS,
	C_LIVE,
	C_LIVE_ERROR,
	C_LIVE_BLOCKS,
	C_ALLOCATIONS,
	C_BYTES,
	C_ERROR,
	C_FREES,
	C_TEMPORARY,
	C_TEMPORARY_RATIO,
	C_MOVED,
	C_AVERAGE,
	C_MIN,
	C_MAX,
	C_SLACK,
	C_LIFE,
	C_MAX_LIFE,
	C_LIFE_P50,
	C_LIFE_P99,
	C_LIVES,
	C_STACK,
	C_N,
};

extern const struct by_column heap_columns[C_N];

/* Fills all but the columns of the task, and those that heap_lives_fill() does. */
void heap_row_fill(struct cell all[C_N], const struct heap_sums *s, u32 stack);
/* C_LIFE_P50, C_LIFE_P99, C_LIVES. */
void heap_lives_fill(struct cell all[C_N], struct report *r, const struct heap_sums *s);

#endif
