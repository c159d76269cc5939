/* What of the calls is worth a change. Private to the view. */
#ifndef MEMWHY_PROBES_MAPS_FINDINGS_H
#define MEMWHY_PROBES_MAPS_FINDINGS_H

#include "probes/maps/maps_tables.h"

void maps_findings(const struct maps_tables *t, struct report *r);

#endif
