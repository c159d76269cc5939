/* What the reclaim probe reads in /proc and /sys: for its BPF programs, and beside them. */
#ifndef MEMWHY_PROBES_RECLAIM_HOST_H
#define MEMWHY_PROBES_RECLAIM_HOST_H

#include "probes/probe.h"

/* One more than the highest number of a node. */
u32 reclaim_nodes(void);
/* The address of the free pages in the kernel's vm_zone_stat; 0: kallsyms does not list it. */
u64 reclaim_free_pages_address(void);

/* Sends the names of gfp flags, and what /proc/vmstat alone knows: waits for kswapd, and pages
 * written. */
extern const struct probe_sampler reclaim_sampler;

#endif
