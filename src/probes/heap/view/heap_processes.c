/* See heap_tables.h. */
#include "probes/heap/view/heap_tables.h"

#include "analysis/cells.h"
#include "analysis/hist.h"

static const char *state_text(const struct heap_total *t)
{
	if (t->h.flags & HEAP_FORKED)
		return t->h.flags & HEAP_ENDED ? "ended fork" : "fork";
	return t->h.flags & HEAP_ENDED ? "ended" : "runs";
}

CELL_EXPR(peak_at_cell, struct heap_total,
	e->peak_ns < e->start_ns / 1000000 * 1000000
		? (struct cell){}
		: cell_u64(e->peak_ns > e->start_ns ? e->peak_ns - e->start_ns : 0))
CELL_EXPR(temporary_cell, struct heap_total,
	e->h.flags &HEAP_SAMPLED ? (struct cell){} : cell_u64(e->temporary))
CELL_EXPR(state_cell, struct heap_total, cell_text(state_text(e)))

/* Of the view, struct heap_mapped; NULL: nothing is known of it. */
static CELL_GET(mapped_cell)
{
	return row->view ? cell_u64(*(const u64 *)((const char *)row->view + offset))
			 : (struct cell){};
}

static CELL_GET(sizes_cell)
{
	struct hist h = {};

	hist_merge32(&h, ((const struct heap_total *)row->sums)->sizes, HEAP_SIZES);
	return hist_to_cell(r, &h);
}

static const struct cell_column columns[] = {
	CELL_NUMBER(struct heap_total, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_FROM(0, struct heap_total, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the process", cell_of_comm),
	CELL_FROM(0, struct heap_total, cgroup, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP,
		COL_WIDE, "control group", cell_of_cgroup),
	CELL_NUMBER(struct heap_total, peak_bytes, "peak_bytes", "PEAK", UNIT_BYTES, COL_LEVEL,
		"most bytes that were allocated at one time (exact, but where threads of an "
		"attached process allocate at the same time)"),
	CELL_NUMBER(struct heap_total, peak_blocks, "peak_blocks", "PEAK BLOCKS", UNIT_COUNT,
		COL_WIDE | COL_LEVEL, "blocks live at that time"),
	CELL_BY(0, "peak_after_ns", "PEAK AT", CELL_U64, UNIT_NS, COL_WIDE,
		"when that was, since the process's first allocation, or since it was attached to "
		"(to some ms)",
		peak_at_cell),
	CELL_NUMBER(struct heap_total, live_bytes, "live_bytes", "LIVE", UNIT_BYTES, COL_LEVEL,
		"allocated and not freed by the end of the interval, or of the process (exact)"),
	CELL_NUMBER(struct heap_total, live_blocks, "live_blocks", "LIVE BLOCKS", UNIT_COUNT,
		COL_LEVEL, "blocks of these"),
	CELL_NUMBER(struct heap_total, allocations, "allocations", "ALLOCS", UNIT_COUNT, 0,
		"blocks allocated since the process began, or was attached to (exact)"),
	CELL_NUMBER(struct heap_total, bytes, "allocated_bytes", "ALLOCATED", UNIT_BYTES, 0,
		"asked for these"),
	CELL_NUMBER(struct heap_total, frees, "frees", "FREES", UNIT_COUNT, COL_WIDE,
		"of these blocks, freed"),
	CELL_BY(0, "temporary", "TEMPORARY", CELL_U64, UNIT_COUNT, 0,
		"of the frees, before the same thread's next allocation", temporary_cell),
	CELL_NUMBER(struct heap_total, moved, "moved", "MOVED", UNIT_COUNT, COL_WIDE,
		"of the allocations, by realloc of a block there was"),
	CELL_FROM(0, struct heap_mapped, peak_bytes, "mapped_peak_bytes", "MAPPED PEAK", CELL_U64,
		UNIT_BYTES, COL_WIDE | COL_LEVEL,
		"most that it had mapped by itself at one time, in whole pages (exact); empty: it "
		"mapped nothing, or is not of a command",
		mapped_cell),
	CELL_FROM(0, struct heap_mapped, live_bytes, "mapped_live_bytes", "MAPPED", CELL_U64,
		UNIT_BYTES, COL_WIDE | COL_LEVEL,
		"what it has mapped by itself by the end of the interval, or of the process",
		mapped_cell),
	CELL_FROM(0, struct heap_mapped, unknown_bytes, "unknown_unmapped_bytes", "OLD UNMAPPED",
		CELL_U64, UNIT_BYTES, COL_WIDE,
		"unmapped, though not mapped by the program itself under memwhy: a fork's "
		"inheritance, what libc or the loader mapped, or nothing was there",
		mapped_cell),
	CELL_FROM(0, struct heap_mapped, replaced_bytes, "replaced_bytes", "REPLACED", CELL_U64,
		UNIT_BYTES, COL_WIDE, "unmapped by a mapping in their place (MAP_FIXED)",
		mapped_cell),
	CELL_NUMBER(struct heap_total, threads, "threads", "THREADS", UNIT_COUNT,
		COL_WIDE | COL_LEVEL, "threads that allocated or freed"),
	CELL_NUMBER(struct heap_total, unknown_frees, "unknown_frees", "OLD FREES", UNIT_COUNT,
		COL_WIDE,
		"frees of blocks that the process did not allocate under memwhy: from before it "
		"was attached to, a fork's inheritance, or what glibc frees of the caches of "
		"threads that end"),
	CELL_NUMBER(struct heap_total, overwritten, "unseen_frees", "UNSEEN FREES", UNIT_COUNT,
		COL_WIDE, "blocks whose address was given out again though no free was seen"),
	CELL_NUMBER(struct heap_total, lost, "lost", "LOST", UNIT_COUNT, COL_WIDE, "events lost"),
	CELL_BY(0, "state", "STATE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"runs, ended (by exit or exec); fork: of a process above, which it shares its "
		"program with",
		state_cell),
	CELL_BY(0, "size_hist", "SIZES", CELL_HIST, UNIT_BYTES, COL_WIDE, "allocations by size",
		sizes_cell),
};

const struct view_table heap_process_tables[] = {
	CELLS_VIEW("process", columns),
	{},
};

struct table *heap_process_table(struct report *r)
{
	return cells_table(r, "process", "Processes", columns, ARRAY_SIZE(columns));
}

int heap_process_row(struct table *t, struct report *r, const struct heap_total *total,
	const struct heap_mapped *mapped)
{
	return cells_one(t, r, columns, total, mapped);
}
