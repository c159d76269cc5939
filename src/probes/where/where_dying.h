/* Private to the where probe: control groups that were removed and that the kernel keeps, as a
 * table. */
#ifndef MEMWHY_PROBES_WHERE_DYING_H
#define MEMWHY_PROBES_WHERE_DYING_H

#include "probes/cgroups/cgroups.h"
#include "report/view.h"

extern const struct view_table where_dying_tables[];

/* d: h.kind 0 where there are few. */
int where_dying_report(const struct cgroup_dying *d, struct report *r);

#endif
