/* What heap.c puts together: what its records look like, its texts, its options. Private to the
 * probe. */
#ifndef MEMWHY_PROBES_HEAP_HEAP_INNER_H
#define MEMWHY_PROBES_HEAP_HEAP_INNER_H

#include "base/util.h"
#include "event/schema.h"
#include "probes/probe.h"

/* The records of heap.h, for those who read recordings. */
#define HEAP_KINDS 10

extern const struct kind heap_kinds[HEAP_KINDS];

/* For help and man page. */
extern const char *const heap_examples[];
extern const char heap_details[];

/* The option table, and what of it goes together. */
extern const struct probe_options heap_options;

#endif
