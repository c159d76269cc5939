/* --each: one row a call, decoded. */
#ifndef MEMWHY_PROBES_POLICY_EACH_H
#define MEMWHY_PROBES_POLICY_EACH_H

#include "probes/policy/policy.h"
#include "report/view.h"

#define POLICY_MOVED_DATA "pages moved in them" /* of the hook */

extern const struct view_table policy_each_tables[];

struct table *policy_each_report(struct report *r, const struct policy_call *calls, size_t n);

#endif
