/*
 * How long things took: the sums of many durations, and the five columns in which every view shows
 * them.
 */
#ifndef MEMWHY_ANALYSIS_DURATIONS_H
#define MEMWHY_ANALYSIS_DURATIONS_H

#include "analysis/cells.h"
#include "analysis/hist.h"

struct durations {
	u64 count; /* of what was timed */
	u64 total_ns, max_ns;
	struct hist hist;
};

/* Adds what a table of the BPF programs counted (struct agg_value): hist has n slots. */
void durations_add(
	struct durations *d, u64 count, u64 total_ns, u64 max_ns, const u32 *hist, u32 n);

/* Cells of the member struct durations of the sums; empty where nothing was timed. */
cell_get durations_total, durations_p50, durations_p99, durations_max, durations_hist;

#define DURATIONS_CELLS(type_, member_, total_help_)                                      \
	{0, {"total_ns", "TIME", CELL_U64, UNIT_NS, 0, total_help_}, durations_total,     \
		offsetof(type_, member_)},                                                \
		{0,                                                                       \
			{"p50_ns", "P50", CELL_U64, UNIT_NS, COL_LESSER,                  \
				"median duration (estimated from a log2 histogram)"},     \
			durations_p50, offsetof(type_, member_)},                         \
		{0,                                                                       \
			{"p99_ns", "P99", CELL_U64, UNIT_NS, COL_LESSER,                  \
				"99th percentile (estimated from a log2 histogram)"},     \
			durations_p99, offsetof(type_, member_)},                         \
		{0, {"max_ns", "MAX", CELL_U64, UNIT_NS, 0, "longest (since the start)"}, \
			durations_max, offsetof(type_, member_)},                         \
	{                                                                                 \
		0,                                                                        \
			{"hist", "DURATIONS", CELL_HIST, UNIT_NS, COL_WIDE,               \
				"log2 histogram of the durations"},                       \
			durations_hist, offsetof(type_, member_)                          \
	}

#endif
