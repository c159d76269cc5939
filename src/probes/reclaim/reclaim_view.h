/* What `memwhy reclaim` shows, and names for the numbers in its records. */
#ifndef MEMWHY_PROBES_RECLAIM_VIEW_H
#define MEMWHY_PROBES_RECLAIM_VIEW_H

#include "probes/reclaim/reclaim.h"
#include "report/view.h"

extern const struct view reclaim_view;

/* "direct", "memcg", "soft limit", "node", "kswapd", "other" */
const char *reclaim_kind_name(u8 kind);
/* "inactive_anon", ... as the kernel says it */
const char *reclaim_lru_name(u8 lru);
/* What the task waits for: "writeback", "isolated", "no progress", ... */
const char *reclaim_throttle_name(u32 reason);

#endif
