/* Log2 histograms: slot 0 counts the value 0, slot i counts 2^(i-1) <= v < 2^i. */
#ifndef MEMWHY_ANALYSIS_HIST_H
#define MEMWHY_ANALYSIS_HIST_H

#include "report/report.h"

#define HIST_N 40

struct hist {
	u64 slots[HIST_N];
};

void hist_add(struct hist *h, u64 value);
/* Adds n slots as the BPF programs count them. */
void hist_merge32(struct hist *h, const u32 *slots, u32 n);
u64 hist_count(const struct hist *h);
/*
 * The value below which the share q (0 to 1) of the values lies, interpolated evenly within its
 * slot: an estimate, off by less than a factor of two. Never above max (0: no bound).
 */
u64 hist_quantile(const struct hist *h, double q, u64 max);

/* A cell with a copy of it, owned by the report. */
struct cell hist_to_cell(struct report *r, const struct hist *h);

#endif
