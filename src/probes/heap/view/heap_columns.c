/* See heap_columns.h. */
#include "probes/heap/view/heap_columns.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/hist.h"

static u64 heap_columns_ns_of_ms(u64 ms)
{
	return ms > UINT64_MAX / 1000000 ? UINT64_MAX : ms * 1000000;
}

/* What only stacks know, or what threads do not. */
static const struct heap_sums *of_site(const struct row_of *row)
{
	const struct heap_sums *s = row->sums;

	return s->of_sites ? s : NULL;
}

static const struct heap_sums *of_process(const struct row_of *row)
{
	const struct heap_sums *s = row->sums;

	return s->of_threads ? NULL : s;
}

static CELL_GET(tid_cell)
{
	return of_process(row) ? (struct cell){} : by_tid_cell(r, row, offset);
}

static CELL_GET(process_cell)
{
	return of_process(row) ? cell_of_u64(r, row, offset) : (struct cell){};
}

static CELL_GET(site_cell)
{
	return of_site(row) ? cell_of_u32(r, row, offset) : (struct cell){};
}

/* The root of a variance; exact sums have none. */
static CELL_GET(error_cell)
{
	const struct heap_sums *s = of_process(row);

	return s && s->sampled ? cell_u64((u64)sqrt(*(const double *)((const char *)s + offset)))
			       : (struct cell){};
}

static CELL_GET(temporary_cell)
{
	const struct heap_sums *s = row->sums;

	return s->sampled ? (struct cell){} : cell_u64(s->temporary);
}

static CELL_GET(temporary_ratio_cell)
{
	const struct heap_sums *s = row->sums;

	return s->sampled ? (struct cell){} : cell_ratio(s->temporary, s->allocations);
}

static CELL_GET(average_cell)
{
	const struct heap_sums *s = row->sums;

	return s->allocations ? cell_u64(s->bytes / s->allocations) : (struct cell){};
}

static CELL_GET(slack_cell)
{
	const struct heap_sums *s = of_site(row);

	return s && !s->attached ? cell_u64(s->slack_bytes) : (struct cell){};
}

static CELL_GET(life_cell)
{
	const struct heap_sums *s = of_site(row);

	return s && s->frees ? cell_u64(heap_columns_ns_of_ms(s->life_ms / s->frees))
			     : (struct cell){};
}

static CELL_GET(max_life_cell)
{
	const struct heap_sums *s = of_site(row);

	return s && s->frees ? cell_u64(heap_columns_ns_of_ms(s->max_life_ms)) : (struct cell){};
}

static bool lives_of(const struct row_of *row, struct hist *ret)
{
	const struct heap_sums *s = row->sums;

	*ret = (struct hist){};
	memcpy(&ret->slots[HEAP_MS_SLOT], s->lives, sizeof(s->lives));
	return s->of_sites && hist_count(ret);
}

static struct cell life_quantile(const struct row_of *row, double q)
{
	const struct heap_sums *s = row->sums;
	struct hist h;

	return lives_of(row, &h) ? cell_u64(hist_quantile(
					   &h, q, heap_columns_ns_of_ms((u64)s->max_life_ms + 1)))
				 : (struct cell){};
}

static CELL_GET(life_p50_cell)
{
	return life_quantile(row, 0.5);
}

static CELL_GET(life_p99_cell)
{
	return life_quantile(row, 0.99);
}

static CELL_GET(lives_cell)
{
	struct hist h;

	return lives_of(row, &h) ? hist_to_cell(r, &h) : (struct cell){};
}

static CELL_GET(stack_cell)
{
	return of_site(row) ? by_stack_cell(r, row, offset) : (struct cell){};
}

#define SUM(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct heap_sums, member_, name_, title_, unit_, flags_, help_)
#define IF(get_, member_, name_, title_, unit_, flags_, help_) \
	CELL_FROM(0, struct heap_sums, member_, name_, title_, CELL_U64, unit_, flags_, help_, get_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS_BY(by_pid_cell, tid_cell, by_comm_cell, by_cgroup_cell),
	IF(process_cell, peak_bytes, "peak_bytes", "PEAK", UNIT_BYTES, COL_WEIGHT | COL_LEVEL,
		"live when its process held most (exact, but where threads of an attached process "
		"allocate at the same time; of several processes: summed, each at its own peak)"),
	IF(error_cell, peak_variance, "peak_error_bytes", "+-", UNIT_BYTES, COL_RARE,
		"with --sample: standard error of PEAK (estimated: the root of the sum of size^2 w "
		"(w - 1) over the blocks that were seen, w = 1 / (1 - exp(-size / sample)))"),
	IF(process_cell, peak_blocks, "peak_blocks", "PEAK BLOCKS", UNIT_COUNT,
		COL_WIDE | COL_LEVEL, "blocks live at that time"),
	SUM(live_bytes, "live_bytes", "LIVE", UNIT_BYTES, COL_LEVEL,
		"allocated and not freed by the end of the interval, or of the process (exact)"),
	IF(error_cell, live_variance, "live_error_bytes", "+-", UNIT_BYTES, COL_RARE,
		"with --sample: standard error of LIVE (as that of PEAK)"),
	SUM(live_blocks, "live_blocks", "LIVE BLOCKS", UNIT_COUNT, COL_LEVEL, "blocks of these"),
	SUM(allocations, "allocations", "ALLOCS", UNIT_COUNT, 0,
		"blocks allocated in the interval, by realloc too (exact)"),
	SUM(bytes, "allocated_bytes", "ALLOCATED", UNIT_BYTES, 0, "asked for these"),
	IF(error_cell, variance, "allocated_error_bytes", "+-", UNIT_BYTES, COL_RARE,
		"with --sample: standard error of ALLOCATED since the process began (as that of "
		"PEAK)"),
	SUM(frees, "frees", "FREES", UNIT_COUNT, COL_WIDE,
		"blocks freed in the interval: those of this stack or process; of threads, those "
		"it freed"),
	IF(temporary_cell, temporary, "temporary", "TEMPORARY", UNIT_COUNT, 0,
		"of the frees, before the same thread's next allocation"),
	CELL_BY(0, "temporary_ratio", "TEMP%", CELL_F64, UNIT_RATIO, COL_WIDE,
		"temporary / allocations", temporary_ratio_cell),
	IF(process_cell, moved, "moved", "MOVED", UNIT_COUNT, COL_WIDE,
		"of the allocations, by realloc of a block there was"),
	CELL_BY(0, "average_bytes", "AVG", CELL_U64, UNIT_BYTES, COL_WIDE,
		"allocated bytes / allocations", average_cell),
	IF(site_cell, min_bytes, "min_bytes", "MIN", UNIT_BYTES, COL_WIDE,
		"smallest allocation since the process began"),
	IF(site_cell, max_bytes, "max_bytes", "MAX", UNIT_BYTES, COL_WIDE,
		"largest allocation since the process began"),
	IF(slack_cell, slack_bytes, "slack_bytes", "SLACK", UNIT_BYTES, COL_WIDE,
		"what the allocator gave beyond the size asked for (malloc_usable_size); unknown "
		"of attached processes, and of operator new where the allocator has its own"),
	IF(life_cell, life_ms, "average_life_ns", "LIFE", UNIT_NS, COL_WIDE,
		"average life of the freed blocks (to some ms)"),
	IF(max_life_cell, max_life_ms, "max_life_ns", "MAX LIFE", UNIT_NS, COL_WIDE,
		"longest life of a freed block since the process began (to some ms)"),
	IF(life_p50_cell, lives, "life_p50_ns", "LIFE P50", UNIT_NS, COL_WIDE,
		"median life of the blocks freed since the process began (estimated from a log2 "
		"histogram of ms)"),
	IF(life_p99_cell, lives, "life_p99_ns", "LIFE P99", UNIT_NS, COL_WIDE,
		"99th percentile (estimated as the median)"),
	CELL_BY(0, "life_hist", "LIFETIMES", CELL_HIST, UNIT_NS, COL_WIDE,
		"log2 histogram of the lives; the first slot is all below 1 ms", lives_cell),
	CELL_BY(BY_STACK, "stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"code path that allocated; none: there was no memory for more stacks", stack_cell),
};

static bool heap_columns_is_any(const struct row_of *row)
{
	const struct heap_sums *s = row->sums;

	return s->allocations || s->frees || s->live_blocks || s->peak_blocks;
}

const struct by_spec heap_spec =
	CELLS_SPEC(columns, struct by_task_key, struct heap_sums, .shows = heap_columns_is_any);

const struct view_table heap_sum_tables[] = {CELLS_VIEW("heap", columns), {}};
