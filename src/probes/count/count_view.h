/* What `memwhy count` shows. */
#ifndef MEMWHY_PROBES_COUNT_VIEW_H
#define MEMWHY_PROBES_COUNT_VIEW_H

#include "report/view.h"

extern const struct view count_view;

#endif
