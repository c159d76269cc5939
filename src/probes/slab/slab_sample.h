/*
 * The sampler of the slab probe: /proc/slabinfo and /sys/kernel/slab. For `check` only the largest
 * caches and those that grow; for the slab command all of them.
 */
#ifndef MEMWHY_PROBES_SLAB_SAMPLE_H
#define MEMWHY_PROBES_SLAB_SAMPLE_H

#include "probes/probe.h"

extern const struct probe_sampler slab_sampler;

#endif
