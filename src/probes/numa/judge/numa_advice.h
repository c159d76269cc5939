/* Findings of numa: the patterns of numa_patterns.h in words, each with what to do. */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_ADVICE_H
#define MEMWHY_PROBES_NUMA_JUDGE_ADVICE_H

#include "probes/numa/judge/numa_bound.h"
#include "probes/numa/judge/numa_patterns.h"
#include "report/report.h"

/* Adds findings and the verdict. groups: by site. */
int numa_advise(struct report *r, const struct numa_feed *f, const struct numa_groups *groups,
	const struct numa_bound *bound);

#endif
