/* What `memwhy maps` shows. */
#ifndef MEMWHY_PROBES_MAPS_VIEW_H
#define MEMWHY_PROBES_MAPS_VIEW_H

#include "probes/maps/maps.h"
#include "report/view.h"

extern const struct view maps_view;

#endif
