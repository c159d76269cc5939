/* The view of ledgers: what `memwhy where` shows. */
#ifndef MEMWHY_PROBES_WHERE_VIEW_H
#define MEMWHY_PROBES_WHERE_VIEW_H

#include "report/view.h"

extern const struct view where_view;
extern const char where_details[], where_output[];

#endif
