/* The schema of the records of maps. Private to the probe. */
#ifndef MEMWHY_PROBES_MAPS_KINDS_H
#define MEMWHY_PROBES_MAPS_KINDS_H

#include "event/schema.h"

#define MAPS_KINDS 5

extern const struct kind maps_kinds[MAPS_KINDS];

#endif
