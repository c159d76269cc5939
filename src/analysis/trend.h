/* A straight line through samples, by least squares, kept as sums: nothing is stored a sample. */
#ifndef MEMWHY_ANALYSIS_TREND_H
#define MEMWHY_ANALYSIS_TREND_H

#include "base/types.h"

struct trend {
	u64 n;
	u64 first_ns, last_ns;
	double first, last; /* values */
	/* Sums relative to the first sample, so that precision is not lost. */
	double t, v, tt, tv, vv;
};

void trend_add(struct trend *t, u64 time_ns, double value);
/* Change a second; 0 with fewer than two samples. */
double trend_slope(const struct trend *t);
/* Share of the variation that the line explains (R squared), 0 to 1; 0 when nothing varies. */
double trend_fit(const struct trend *t);

#endif
