/* The records of the compaction probe, as recordings describe them. */
#ifndef MEMWHY_PROBES_COMPACTION_KINDS_H
#define MEMWHY_PROBES_COMPACTION_KINDS_H

#include "event/schema.h"

#define COMPACTION_KINDS 6

extern const struct kind compaction_kinds[COMPACTION_KINDS];

#endif
