/* See heap_processes.h. */
#include "probes/heap/view/heap_processes.h"

#include "analysis/hist.h"

enum {
	P_PID,
	P_COMM,
	P_CGROUP,
	P_PEAK,
	P_PEAK_BLOCKS,
	P_PEAK_AT,
	P_LIVE,
	P_LIVE_BLOCKS,
	P_ALLOCATIONS,
	P_BYTES,
	P_FREES,
	P_TEMPORARY,
	P_MOVED,
	P_MAPPED_PEAK,
	P_MAPPED_LIVE,
	P_UNKNOWN_UNMAPPED,
	P_REPLACED,
	P_THREADS,
	P_UNKNOWN,
	P_OVERWRITTEN,
	P_LOST,
	P_STATE,
	P_SIZES,
	P_N,
};

_Static_assert(P_N == HEAP_PROCESS_COLUMNS, "columns of processes");

const struct column heap_process_columns[HEAP_PROCESS_COLUMNS] = {
	[P_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	[P_COMM] = {"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process"},
	[P_CGROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, "control group"},
	[P_PEAK] = {"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"most bytes that were allocated at one time (exact, but where threads of an "
		"attached process allocate at the same time)"},
	[P_PEAK_BLOCKS] = {"peak_blocks", "PEAK BLOCKS", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"blocks live at that time"},
	[P_PEAK_AT] = {"peak_after_ns", "PEAK AT", CELL_U64, UNIT_NS, COL_WIDE,
		"when that was, since the process's first allocation, or since it was attached to "
		"(to some ms)"},
	[P_LIVE] = {"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"allocated and not freed by the end of the interval, or of the process (exact)"},
	[P_LIVE_BLOCKS] = {"live_blocks", "LIVE BLOCKS", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"blocks of these"},
	[P_ALLOCATIONS] = {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, 0,
		"blocks allocated since the process began, or was attached to (exact)"},
	[P_BYTES] = {"allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES, 0, "asked for these"},
	[P_FREES] = {"frees", "FREES", CELL_U64, UNIT_COUNT, COL_WIDE, "of these blocks, freed"},
	[P_TEMPORARY] = {"temporary", "TEMPORARY", CELL_U64, UNIT_COUNT, 0,
		"of the frees, before the same thread's next allocation"},
	[P_MOVED] = {"moved", "MOVED", CELL_U64, UNIT_COUNT, COL_WIDE,
		"of the allocations, by realloc of a block there was"},
	[P_MAPPED_PEAK] = {"mapped_peak_bytes", "MAPPED PEAK", CELL_U64, UNIT_BYTES,
		COL_WIDE | COL_LEVEL,
		"most that it had mapped by itself at one time, in whole pages (exact); empty: it "
		"mapped nothing, or is not of a command"},
	[P_MAPPED_LIVE] = {"mapped_live_bytes", "MAPPED", CELL_U64, UNIT_BYTES,
		COL_WIDE | COL_LEVEL,
		"what it has mapped by itself by the end of the interval, or of the process"},
	[P_UNKNOWN_UNMAPPED] = {"unknown_unmapped_bytes", "OLD UNMAPPED", CELL_U64, UNIT_BYTES,
		COL_WIDE,
		"unmapped, though not mapped by the program itself under memwhy: a fork's "
		"inheritance, what libc or the loader mapped, or nothing was there"},
	[P_REPLACED] = {"replaced_bytes", "REPLACED", CELL_U64, UNIT_BYTES, COL_WIDE,
		"unmapped by a mapping in their place (MAP_FIXED)"},
	[P_THREADS] = {"threads", "THREADS", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"threads that allocated or freed"},
	[P_UNKNOWN] = {"unknown_frees", "OLD FREES", CELL_U64, UNIT_COUNT, COL_WIDE,
		"frees of blocks that the process did not allocate under memwhy: from before it "
		"was attached to, a fork's inheritance, or what glibc frees of the caches of "
		"threads that end"},
	[P_OVERWRITTEN] = {"unseen_frees", "UNSEEN FREES", CELL_U64, UNIT_COUNT, COL_WIDE,
		"blocks whose address was given out again though no free was seen"},
	[P_LOST] = {"lost", "LOST", CELL_U64, UNIT_COUNT, COL_WIDE, "events lost"},
	[P_STATE] = {"state", "STATE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"runs, ended (by exit or exec); fork: of a process above, which it shares its "
		"program with"},
	[P_SIZES] = {"size_hist", "SIZES", CELL_HIST, UNIT_BYTES, COL_WIDE, "allocations by size"},
};

static const char *state_text(const struct heap_total *t)
{
	if (t->h.flags & HEAP_FORKED)
		return t->h.flags & HEAP_ENDED ? "ended fork" : "fork";
	return t->h.flags & HEAP_ENDED ? "ended" : "runs";
}

static void mapped_fill(struct cell *row, const struct heap_mapped *m)
{
	row[P_MAPPED_PEAK] = cell_u64(m->peak_bytes);
	row[P_MAPPED_LIVE] = cell_u64(m->live_bytes);
	row[P_UNKNOWN_UNMAPPED] = cell_u64(m->unknown_bytes);
	row[P_REPLACED] = cell_u64(m->replaced_bytes);
}

void heap_process_fill(struct cell *row, struct report *r, const struct heap_total *t,
	const struct heap_mapped *mapped)
{
	struct hist h = {};

	hist_merge32(&h, t->sizes, HEAP_SIZES);
	row[P_PID] = cell_u64(t->tgid);
	row[P_COMM] = cell_text(report_text(r, "%.16s", t->comm));
	row[P_CGROUP] = cell_text(stream_cgroup(r->stream, t->cgroup));
	row[P_PEAK] = cell_u64(t->peak_bytes);
	row[P_PEAK_BLOCKS] = cell_u64(t->peak_blocks);
	if (t->peak_ns >= t->start_ns / 1000000 * 1000000)
		row[P_PEAK_AT] = cell_u64(t->peak_ns > t->start_ns ? t->peak_ns - t->start_ns : 0);
	row[P_LIVE] = cell_u64(t->live_bytes);
	row[P_LIVE_BLOCKS] = cell_u64(t->live_blocks);
	row[P_ALLOCATIONS] = cell_u64(t->allocations);
	row[P_BYTES] = cell_u64(t->bytes);
	row[P_FREES] = cell_u64(t->frees);
	if (!(t->h.flags & HEAP_SAMPLED))
		row[P_TEMPORARY] = cell_u64(t->temporary);
	row[P_MOVED] = cell_u64(t->moved);
	row[P_THREADS] = cell_u64(t->threads);
	row[P_UNKNOWN] = cell_u64(t->unknown_frees);
	row[P_OVERWRITTEN] = cell_u64(t->overwritten);
	row[P_LOST] = cell_u64(t->lost);
	row[P_STATE] = cell_text(state_text(t));
	if (mapped)
		mapped_fill(row, mapped);
	row[P_SIZES] = hist_to_cell(r, &h);
}
