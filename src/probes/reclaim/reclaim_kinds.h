/* What the records of the reclaim probe look like, for the log's schema. */
#ifndef MEMWHY_PROBES_RECLAIM_KINDS_H
#define MEMWHY_PROBES_RECLAIM_KINDS_H

#include "event/schema.h"

#define RECLAIM_KINDS 7

extern const struct kind reclaim_kinds[RECLAIM_KINDS];

#endif
