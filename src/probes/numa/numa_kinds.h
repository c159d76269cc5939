/* What the records of numa look like on disk. */
#ifndef MEMWHY_PROBES_NUMA_KINDS_H
#define MEMWHY_PROBES_NUMA_KINDS_H

#include "event/schema.h"

#define NUMA_KINDS 11

extern const struct kind numa_kinds[NUMA_KINDS];

#endif
