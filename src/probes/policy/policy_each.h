/* --each: one row a call, decoded. */
#ifndef MEMWHY_PROBES_POLICY_EACH_H
#define MEMWHY_PROBES_POLICY_EACH_H

#include "probes/policy/policy.h"
#include "report/view.h"

#define POLICY_MOVED_DATA "pages moved in them" /* of the hook */

extern const struct view_table policy_each_tables[];

struct table *policy_each_table(struct report *r);
void policy_each_fill(struct cell *row, struct report *r, const struct policy_call *e);

#endif
