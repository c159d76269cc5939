/* The option table of numa, what of it goes together, and when heap runs beside it. */
#ifndef MEMWHY_PROBES_NUMA_OPTIONS_H
#define MEMWHY_PROBES_NUMA_OPTIONS_H

#include "probes/probe.h"

extern const struct probe_options numa_options;

void numa_beside(const struct request *r, void *opts, struct company *ret);

#endif
