/* What `memwhy pages` shows: allocations, frees, per-CPU lists, imbalance, held pages. */
#ifndef MEMWHY_PROBES_PAGES_VIEW_H
#define MEMWHY_PROBES_PAGES_VIEW_H

#include "report/view.h"

extern const struct view pages_view;

#endif
