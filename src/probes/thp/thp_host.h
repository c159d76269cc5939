/* Private to the thp probe: what files tell: settings, counters, watermarks, processes. */
#ifndef MEMWHY_PROBES_THP_HOST_H
#define MEMWHY_PROBES_THP_HOST_H

#include "probes/probe.h"

extern const struct probe_sampler thp_sampler;

/* The sum of the high watermarks of all zones and a huge page, in pages; 0: not known. */
u64 thp_host_high_pages(void);

#endif
