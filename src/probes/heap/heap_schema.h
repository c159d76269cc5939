/* What the records of heap.h look like, for those who read recordings. */
#ifndef MEMWHY_PROBES_HEAP_SCHEMA_H
#define MEMWHY_PROBES_HEAP_SCHEMA_H

#include "base/util.h"
#include "event/schema.h"

#define HEAP_KINDS 10

extern const struct kind heap_kinds[HEAP_KINDS];

#endif
