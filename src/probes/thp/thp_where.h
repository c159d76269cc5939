/*
 * Private to the thp probe: on each CPU, the addresses of the kernel's counters of huge pages, to
 * watch them. Owns how they are found, and the proof that it is them.
 */
#ifndef MEMWHY_PROBES_THP_WHERE_H
#define MEMWHY_PROBES_THP_WHERE_H

#include <linux/perf_event.h>

#include "base/util.h"

/* An attach_perf's `aim`: a write watchpoint on the counter of which attr->config is the enum
 * thp_watch. -ENODATA: the address is not to be had here. */
int thp_where_aim(struct perf_event_attr *attr, int cpu);
/* Of vm_zone_stat; 0: not known. */
u64 thp_where_free_pages(void);

#endif
