/* What goes wrong with calls: errors and the classic mistakes, by process and call. */
#ifndef MEMWHY_PROBES_POLICY_PROBLEMS_H
#define MEMWHY_PROBES_POLICY_PROBLEMS_H

#include "base/groups.h"
#include "base/vec.h"
#include "probes/policy/policy.h"
#include "report/view.h"

struct policy_problems {
	struct groups by;
	VEC(struct policy_call) examples;
};

extern const struct view_table policy_problem_tables[];

void policy_problems_init(struct policy_problems *p);
int policy_problems_agg(struct policy_problems *p, const struct policy_agg *r);
int policy_problems_call(struct policy_problems *p, const struct policy_call *e);
int policy_problems_report(const struct policy_problems *p, struct report *r);
void policy_problems_reset(struct policy_problems *p);
void policy_problems_free(struct policy_problems *p);

#endif
