/* In words what a slab cache, or a function that vmalloc gave memory to, uses it for. */
#ifndef MEMWHY_PROBES_WHERE_USES_H
#define MEMWHY_PROBES_WHERE_USES_H

#include "base/util.h"

/* NULL: not known, or no row of such owners. */
const char *where_use(u32 row, const char *name);

#endif
