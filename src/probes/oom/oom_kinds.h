/* What the records of the oom probe look like, for the schema of recordings. */
#ifndef MEMWHY_PROBES_OOM_KINDS_H
#define MEMWHY_PROBES_OOM_KINDS_H

#include "event/schema.h"

#define OOM_KINDS 7

extern const struct kind oom_kinds[OOM_KINDS];

#endif
