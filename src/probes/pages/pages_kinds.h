/* The schema of the pages probe's records. */
#ifndef MEMWHY_PROBES_PAGES_KINDS_H
#define MEMWHY_PROBES_PAGES_KINDS_H

#include "event/schema.h"

#define PAGES_KINDS 10

extern const struct kind pages_kinds[PAGES_KINDS];

#endif
