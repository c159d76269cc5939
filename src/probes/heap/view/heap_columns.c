/* See heap_columns.h. */
#include "probes/heap/view/heap_columns.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/hist.h"

const struct by_column heap_columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_PEAK] = {0, {"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_WEIGHT | COL_LEVEL,
			       "live when its process held most (exact, but where threads of an "
			       "attached process allocate at the same time; of several processes: "
			       "summed, each at its own peak)"}},
	[C_PEAK_ERROR] = {0,
		{"peak_error_bytes", "+-", CELL_U64, UNIT_BYTES, COL_RARE,
			"with --sample: standard error of PEAK (estimated: the root of "
			"the sum of size^2 w (w - 1) over the blocks that were seen, w = "
			"1 / (1 - exp(-size / sample)))"}},
	[C_LIVE_ERROR] = {0, {"live_error_bytes", "+-", CELL_U64, UNIT_BYTES, COL_RARE,
				     "with --sample: standard error of LIVE (as that of PEAK)"}},
	[C_ERROR] = {0,
		{"allocated_error_bytes", "+-", CELL_U64, UNIT_BYTES, COL_RARE,
			"with --sample: standard error of ALLOCATED since the process began "
			"(as that of PEAK)"}},
	[C_PEAK_BLOCKS] = {0, {"peak_blocks", "PEAK BLOCKS", CELL_U64, UNIT_COUNT,
				      COL_WIDE | COL_LEVEL, "blocks live at that time"}},
	[C_LIVE] = {0, {"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL,
			       "allocated and not freed by the end of the interval, or of the "
			       "process (exact)"}},
	[C_LIVE_BLOCKS] = {0,
		{"live_blocks", "LIVE BLOCKS", CELL_U64, UNIT_COUNT, COL_LEVEL, "blocks of these"}},
	[C_ALLOCATIONS] = {0, {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, 0,
				      "blocks allocated in the interval, by realloc too (exact)"}},
	[C_BYTES] = {0,
		{"allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES, 0, "asked for these"}},
	[C_FREES] = {0, {"frees", "FREES", CELL_U64, UNIT_COUNT, COL_WIDE,
				"blocks freed in the interval: those of this stack or process; of "
				"threads, those it freed"}},
	[C_TEMPORARY] = {0, {"temporary", "TEMPORARY", CELL_U64, UNIT_COUNT, 0,
				    "of the frees, before the same thread's next allocation"}},
	[C_TEMPORARY_RATIO] = {0, {"temporary_ratio", "TEMP%", CELL_F64, UNIT_RATIO, COL_WIDE,
					  "temporary / allocations"}},
	[C_MOVED] = {0, {"moved", "MOVED", CELL_U64, UNIT_COUNT, COL_WIDE,
				"of the allocations, by realloc of a block there was"}},
	[C_AVERAGE] = {0, {"average_bytes", "AVG", CELL_U64, UNIT_BYTES, COL_WIDE,
				  "allocated bytes / allocations"}},
	[C_MIN] = {0, {"min_bytes", "MIN", CELL_U64, UNIT_BYTES, COL_WIDE,
			      "smallest allocation since the process began"}},
	[C_MAX] = {0, {"max_bytes", "MAX", CELL_U64, UNIT_BYTES, COL_WIDE,
			      "largest allocation since the process began"}},
	[C_SLACK] = {0, {"slack_bytes", "SLACK", CELL_U64, UNIT_BYTES, COL_WIDE,
				"what the allocator gave beyond the size asked for "
				"(malloc_usable_size); unknown of attached processes, and of "
				"operator new where the allocator has its own"}},
	[C_LIFE] = {0, {"average_life_ns", "LIFE", CELL_U64, UNIT_NS, COL_WIDE,
			       "average life of the freed blocks (to some ms)"}},
	[C_MAX_LIFE] = {0, {"max_life_ns", "MAX LIFE", CELL_U64, UNIT_NS, COL_WIDE,
				   "longest life of a freed block since the process began (to "
				   "some ms)"}},
	[C_LIFE_P50] = {0, {"life_p50_ns", "LIFE P50", CELL_U64, UNIT_NS, COL_WIDE,
				   "median life of the blocks freed since the process began "
				   "(estimated from a log2 histogram of ms)"}},
	[C_LIFE_P99] = {0, {"life_p99_ns", "LIFE P99", CELL_U64, UNIT_NS, COL_WIDE,
				   "99th percentile (estimated as the median)"}},
	[C_LIVES] = {0, {"life_hist", "LIFETIMES", CELL_HIST, UNIT_NS, COL_WIDE,
				"log2 histogram of the lives; the first slot is all below 1 ms"}},
	[C_STACK] = {BY_STACK, {"stack", "STACK", CELL_STACK, UNIT_NONE, 0,
				       "code path that allocated; none: there was no memory for "
				       "more stacks"}},
};

static u64 ns_of_ms(u64 ms)
{
	return ms > UINT64_MAX / 1000000 ? UINT64_MAX : ms * 1000000;
}

/* What exact sums have none of. */
static void errors_fill(struct cell all[C_N], const struct heap_sums *s)
{
	all[C_LIVE_ERROR] = cell_u64((u64)sqrt(s->live_variance));
	all[C_PEAK_ERROR] = cell_u64((u64)sqrt(s->peak_variance));
	all[C_ERROR] = cell_u64((u64)sqrt(s->variance));
}

void heap_lives_fill(struct cell all[C_N], struct report *r, const struct heap_sums *s)
{
	u64 max = ns_of_ms((u64)s->max_life_ms + 1);
	struct hist h = {};

	memcpy(&h.slots[HEAP_MS_SLOT], s->lives, sizeof(s->lives));
	if (!s->of_sites || !hist_count(&h))
		return;
	all[C_LIFE_P50] = cell_u64(hist_quantile(&h, 0.5, max));
	all[C_LIFE_P99] = cell_u64(hist_quantile(&h, 0.99, max));
	all[C_LIVES] = hist_to_cell(r, &h);
}

void heap_row_fill(struct cell all[C_N], const struct heap_sums *s, u32 stack)
{
	all[C_LIVE] = cell_u64(s->live_bytes);
	all[C_LIVE_BLOCKS] = cell_u64(s->live_blocks);
	all[C_ALLOCATIONS] = cell_u64(s->allocations);
	all[C_BYTES] = cell_u64(s->bytes);
	all[C_FREES] = cell_u64(s->frees);
	all[C_TEMPORARY] = cell_u64(s->temporary);
	if (s->allocations) {
		all[C_TEMPORARY_RATIO] = cell_f64((double)s->temporary / (double)s->allocations);
		all[C_AVERAGE] = cell_u64(s->bytes / s->allocations);
	}
	if (s->sampled) {
		all[C_TEMPORARY] = all[C_TEMPORARY_RATIO] = (struct cell){};
		if (!s->of_threads)
			errors_fill(all, s);
	}
	if (!s->of_threads) {
		all[C_PEAK] = cell_u64(s->peak_bytes);
		all[C_PEAK_BLOCKS] = cell_u64(s->peak_blocks);
		all[C_MOVED] = cell_u64(s->moved);
	}
	if (!s->of_sites)
		return;
	all[C_MIN] = cell_u64(s->min_bytes);
	all[C_MAX] = cell_u64(s->max_bytes);
	if (!s->attached)
		all[C_SLACK] = cell_u64(s->slack_bytes);
	if (s->frees) {
		all[C_LIFE] = cell_u64(ns_of_ms(s->life_ms / s->frees));
		all[C_MAX_LIFE] = cell_u64(ns_of_ms(s->max_life_ms));
	}
	all[C_STACK] = cell_stack(stack);
}
