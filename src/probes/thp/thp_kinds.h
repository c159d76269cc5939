/* Private to the thp probe: the schema of its records. */
#ifndef MEMWHY_PROBES_THP_KINDS_H
#define MEMWHY_PROBES_THP_KINDS_H

#include "base/util.h"
#include "event/schema.h"

#define THP_KINDS 4

extern const struct kind thp_kinds[THP_KINDS];

#endif
