/* What `memwhy maps` shows. */
#ifndef MEMWHY_PROBES_MAPS_VIEW_H
#define MEMWHY_PROBES_MAPS_VIEW_H

#include "probes/maps/maps.h"
#include "report/view.h"

extern const struct view maps_view;

/* The man page's longer texts. */
extern const char maps_details[], maps_output[];

#endif
