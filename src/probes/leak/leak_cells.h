/*
 * The columns that say how what is outstanding went and how old it is, which objects of the kernel,
 * its pages and blocks of a heap have in common. Private to the view.
 */
#ifndef MEMWHY_PROBES_LEAK_CELLS_H
#define MEMWHY_PROBES_LEAK_CELLS_H

#include "analysis/durations.h"
#include "probes/leak/leak_series.h"

/* One of these columns: it finds its cell in struct leak_cells, which is the row's view. */
#define LEAK_CELL(member_, ...)                                                   \
	{                                                                         \
		0, {__VA_ARGS__}, leak_cell, offsetof(struct leak_cells, member_) \
	}
cell_get leak_cell;

#define LEAK_CELL_NOW                                                             \
	LEAK_CELL(now, "growth_bytes_per_s", "GROWTH/s", CELL_S64, UNIT_BYTES, 0, \
		"growth of those bytes in the last third of the time since the start")
#define LEAK_CELL_STAYED                                                                       \
	LEAK_CELL(stayed, "stayed_ratio", "STAYED", CELL_F64, UNIT_RATIO, 0,                   \
		"of the bytes that were outstanding after the first third of the time, still " \
		"there")
#define LEAK_CELL_VERDICT                                                         \
	LEAK_CELL(verdict, "verdict", "VERDICT", CELL_TEXT, UNIT_NONE, COL_BELOW, \
		"how the outstanding bytes developed since the start")
#define LEAK_CELL_OUTLIVED                                                                        \
	LEAK_CELL(outlived, "outlived_ratio", "OUTLIVED", CELL_F64, UNIT_RATIO, COL_WIDE,         \
		"of the outstanding, older than 99 % of those that were freed became (estimated " \
		"from log2 histograms); none: fewer than 20 were freed")
#define LEAK_CELL_FIRST                                                                 \
	LEAK_CELL(trend[0], "first_bytes", "1ST THIRD", CELL_S64, UNIT_BYTES, COL_WIDE, \
		"growth in the first third of the time since the start")
#define LEAK_CELL_MIDDLE                                                                 \
	LEAK_CELL(trend[1], "middle_bytes", "2ND THIRD", CELL_S64, UNIT_BYTES, COL_WIDE, \
		"in the middle third")
#define LEAK_CELL_LAST                                                                 \
	LEAK_CELL(trend[2], "last_bytes", "3RD THIRD", CELL_S64, UNIT_BYTES, COL_WIDE, \
		"in the last third")
#define LEAK_CELL_SLOPE                                                                     \
	LEAK_CELL(trend[3], "slope_bytes_per_s", "SLOPE/s", CELL_F64, UNIT_BYTES, COL_WIDE, \
		"of a straight line through all of it (least squares)")
#define LEAK_CELL_FIT                                                           \
	LEAK_CELL(trend[4], "fit_ratio", "FIT", CELL_F64, UNIT_RATIO, COL_WIDE, \
		"how much of the change that line explains (R squared)")
#define LEAK_CELL_OLD                                                         \
	LEAK_CELL(old, "old_objects", "OLD", CELL_U64, UNIT_COUNT, COL_LEVEL, \
		"of the outstanding, those from the first third of the time")
#define LEAK_CELL_AGE_P50                                                        \
	LEAK_CELL(age_p50, "age_p50_ns", "AGE P50", CELL_U64, UNIT_NS, COL_WIDE, \
		"median age (estimated from a log2 histogram)")
#define LEAK_CELL_AGE_MAX \
	LEAK_CELL(age_max, "age_max_ns", "OLDEST", CELL_U64, UNIT_NS, COL_WIDE, "the oldest")
#define LEAK_CELL_AGES \
	LEAK_CELL(ages, "ages", "AGES", CELL_HIST, UNIT_NS, COL_WIDE, "log2 histogram of the ages")
#define LEAK_CELL_LIFE_P99                                                     \
	LEAK_CELL(life_p99, "p99_ns", "LIFE P99", CELL_U64, UNIT_NS, COL_WIDE, \
		"99th percentile (estimated from a log2 histogram)")
#define LEAK_CELL_LIFE_MAX \
	LEAK_CELL(life_max, "max_ns", "LIFE MAX", CELL_U64, UNIT_NS, COL_WIDE, "the longest")
/* How it grew, side by side in each table. */
#define LEAK_CELLS_TREND \
	LEAK_CELL_FIRST, LEAK_CELL_MIDDLE, LEAK_CELL_LAST, LEAK_CELL_SLOPE, LEAK_CELL_FIT

/* What is known of the ages of the outstanding and the lifetimes of the freed. */
struct leak_ages {
	const struct hist *ages;
	const struct durations *lives;
	u64 old, oldest_ns;
};

/* Cells of the columns above; empty: not known. */
struct leak_cells {
	struct cell verdict, now, stayed, trend[5];
	struct cell old, age_p50, age_max, ages, outlived;
	struct cell life_p50, life_p99, life_max, lives;
};

/* j: NULL: not judged. stayed: below 0: not known. */
void leak_cells_fill(struct leak_cells *c, struct report *r, const struct leak_judgement *j,
	double stayed, const struct leak_ages *a);

/* A sum of what is outstanding; what the edges of the interval put below 0 is 0. */
static inline struct cell leak_live_of(u64 v)
{
	return cell_u64((s64)v > 0 ? v : 0);
}
/* The same of an u64 of the sums. */
cell_get leak_live_cell;

#endif
