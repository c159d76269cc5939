/* The schema of the records of stalls. */
#ifndef MEMWHY_PROBES_STALLS_KINDS_H
#define MEMWHY_PROBES_STALLS_KINDS_H

#include "event/schema.h"

#define STALLS_KINDS 3
extern const struct kind stalls_kinds[STALLS_KINDS];

#endif
