/* What `thp` shows of its records. */
#ifndef MEMWHY_PROBES_THP_VIEW_H
#define MEMWHY_PROBES_THP_VIEW_H

#include "report/view.h"

extern const struct view thp_view;
#endif
