/*
 * Private to the capture of numa: accesses as the processor samples them: Intel PEBS (loads above a
 * latency, stores) and AMD IBS (operations). Owns which events there are here.
 */
#ifndef MEMWHY_PROBES_NUMA_HARDWARE_H
#define MEMWHY_PROBES_NUMA_HARDWARE_H

#include <linux/perf_event.h>

#include "base/util.h"

#define NUMA_WHY_LEN 96

/* 0: an event can be opened here. Else -errno, and why not. */
int numa_hardware_try(char why[NUMA_WHY_LEN]);

#endif
