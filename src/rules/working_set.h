/*
 * How much of what a control group reads is out of the page cache and will be needed again, by the
 * pages that were seen to go and to come back. Knows no finding.
 */
#ifndef MEMWHY_RULES_WORKING_SET_H
#define MEMWHY_RULES_WORKING_SET_H

#include "base/groups.h"
#include "probes/cache/cache.h"
#include "report/report.h"

/* Pages that came into the page cache, sampled, and those of them that came back. */
struct working_set {
	u64 read;
	u64 back, out_ns; /* for how long they had been out */
};

/* sets: of cgroup */
void working_set_init(struct groups *sets);
int working_set_feed(struct groups *sets, const struct cache_agg *r);
/* The working set of a group and those below it. */
struct working_set working_set_of(const struct groups *sets, const struct report *r, u64 cgroup);
/* As much is out and will be needed as comes back a second, times how long it was out (Little's
 * law). What is out for longer than the look lasts is not seen to come back: this is the least.
 * 0: too little was seen. */
u64 working_set_out_least(const struct working_set *w, double pages_second, u64 page_bytes);
/* The same if each page that is read is as likely as any other to be needed next, as with random
 * reads: the fewer came back within the look, the more there are. This is the most. */
u64 working_set_out_most(const struct working_set *w, u64 page_bytes);

#endif
