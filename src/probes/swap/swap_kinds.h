/* The schema of the swap records. Private to the probe. */
#ifndef MEMWHY_PROBES_SWAP_KINDS_H
#define MEMWHY_PROBES_SWAP_KINDS_H

#include "event/schema.h"

#define SWAP_KINDS 5

extern const struct kind swap_kinds[SWAP_KINDS];

#endif
