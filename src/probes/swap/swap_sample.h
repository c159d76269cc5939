/* What /proc and /sys tell of swap: devices, owners, counters. Private to the probe. */
#ifndef MEMWHY_PROBES_SWAP_SAMPLE_H
#define MEMWHY_PROBES_SWAP_SAMPLE_H

#include "probes/probe.h"

extern const struct probe_sampler swap_sampler;

/* Is there a swap device on zram, and a kernel that gives it pages without a bio (before 6.3)? */
bool swap_takes_pages(void);

/* Is zswap on, or does it still hold pages? */
bool swap_has_zswap(void);

#endif
