/*
 * How a value went over time, by a bounded number of samples: does its lower edge rise all the
 * time, did it rise and stop, or is it noise around a level? The lower edge is what a collector's
 * or a cache's ups and downs leave behind.
 */
#ifndef MEMWHY_ANALYSIS_SHAPE_H
#define MEMWHY_ANALYSIS_SHAPE_H

#include "analysis/trend.h"

#define SHAPE_SAMPLES 64
#define SHAPE_PARTS 5 /* of the time; each has a lowest value */

enum shape_kind {
	SHAPE_UNKNOWN, /* too few samples */
	SHAPE_LEVEL,   /* noise, ups and downs, or it fell */
	SHAPE_FILLED,  /* it rose, and rises no more, or hardly */
	SHAPE_DRIFTS,  /* beneath its ups and downs it seems to rise: a longer look would tell */
	SHAPE_RISING,  /* it rises to the end */
};

struct shape {
	struct trend trend; /* of all samples */
	u64 time_ns[SHAPE_SAMPLES];
	double value[SHAPE_SAMPLES];
	u32 n;
	u32 every, skip; /* of the samples one in so many is kept, as there are more */
};

void shape_add(struct shape *s, u64 time_ns, double value);
/* *ret_rate: how fast its lower edge rises, a second. */
enum shape_kind shape_judge(const struct shape *s, double *ret_rate);

#endif
