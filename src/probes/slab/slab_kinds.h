/* What the slab probe's records hold, for the schema of recordings. */
#ifndef MEMWHY_PROBES_SLAB_KINDS_H
#define MEMWHY_PROBES_SLAB_KINDS_H

#include "event/schema.h"

#define SLAB_KINDS 6

extern const struct kind slab_kinds[SLAB_KINDS];

#endif
