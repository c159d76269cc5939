/* Private to the where probe: its kinds of records. */
#ifndef MEMWHY_PROBES_WHERE_KINDS_H
#define MEMWHY_PROBES_WHERE_KINDS_H

#include "event/schema.h"

#define WHERE_KINDS 4

extern const struct kind where_kinds[WHERE_KINDS];

#endif
