/* `reclaim` printing as drsnoop and vmscan do. Private to the view. */
#ifndef MEMWHY_PROBES_RECLAIM_LOOKS_H
#define MEMWHY_PROBES_RECLAIM_LOOKS_H

#include "probes/reclaim/reclaim.h"
#include "report/report.h"

extern const char drsnoop_head[], vmscan_head[];

/* A line for one stall of global direct reclaim; nothing for others, which drsnoop does not see. */
void drsnoop_line(const struct reclaim_stall *e, struct str *out);

/* What vmscan sums up in each interval. */
struct vmscan_sums {
	u64 shrinker_ns, direct_ns, memcg_ns;
	u64 kswapd_wakes, written_pages;
};

void vmscan_feed(struct vmscan_sums *v, const struct rec *r);
void vmscan_line(struct report *r, const struct vmscan_sums *v, struct str *out);

#endif
