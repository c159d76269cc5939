/*
 * Which program made System V segments, by the page faults of processes that have ended since; how
 * those that nobody has attached are removed.
 */
#ifndef MEMWHY_RULES_SEGMENT_MAKERS_H
#define MEMWHY_RULES_SEGMENT_MAKERS_H

#include "probes/faults/faults.h"
#include "rules/holdings.h"

/* comms: tgid -> name (COMM_LEN) */
int segment_makers_feed(struct groups *comms, const struct faults_agg *r);
/* Who made most of those that nobody has attached and that are new; NULL: not known, or several. */
const char *segment_makers(
	const struct report *r, const struct held *h, const struct groups *comms, u32 *ret_n);
/* What to try: n are attached by nobody. */
void segments_remove_try(struct report *r, struct finding *x, const struct held *h, u64 n);

#endif
