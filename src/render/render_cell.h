/* One value as people read it (with its unit) or as programs do (bare). Stacks and histograms are
 * no single values: text draws them below the row, and only the bare form has them. */
#ifndef MEMWHY_RENDER_CELL_H
#define MEMWHY_RENDER_CELL_H

#include "base/str.h"
#include "report/report.h"

enum cell_how {
	CELL_COMPACT = 1, /* large counts as 12.3 k */
	CELL_SHORT = 2,   /* a cgroup's path as a short name */
};

/* A value has its unit: 12,345, 1.50 GiB, 3.00 ms, 12.3 %. Text is escaped. */
void cell_add(struct str *out, const struct column *c, const struct cell *v, u32 how);
/* The value alone, as CSV has it. Text is escaped; frames and slots are joined by ";". */
void cell_add_bare(struct str *out, const struct stream *s, const struct cell *v);
/* When the interval of a report began and ended, as 2025-11-21T12:00:00.250Z; "" where the time of
 * day is not known. */
struct span_text {
	char start[64], end[64];
};

void span_read(const struct stream *s, struct span_text *ret);
/* A number in the unit of its column, as a cell has it. */
void number_add(struct str *out, u8 unit, u64 value);
/* 1,234,567; above ten digits 12.3 G. */
void count_add(struct str *out, u64 n);

/* Slot i of a histogram counts values from this one on, up to (not including) that of i + 1. */
static inline u64 hist_bound(size_t slot)
{
	return slot ? 1ULL << (slot - 1) : 0;
}

#endif
