/* Private to the limit probe: its kinds of records. */
#ifndef MEMWHY_PROBES_LIMIT_KINDS_H
#define MEMWHY_PROBES_LIMIT_KINDS_H

#include "event/schema.h"

#define LIMIT_KINDS 3

extern const struct kind limit_kinds[LIMIT_KINDS];

#endif
