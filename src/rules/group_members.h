/*
 * The processes of a control group: which have most memory in it, and how they grow. Knows no
 * finding of its own.
 */
#ifndef MEMWHY_RULES_GROUP_MEMBERS_H
#define MEMWHY_RULES_GROUP_MEMBERS_H

#include "base/groups.h"
#include "probes/processes/processes.h"
#include "report/report.h"

/* members: of tgid */
void group_members_init(struct groups *members);
int group_members_feed(struct groups *members, const struct process_memory *m);
/* How much anonymous memory those of a group, and of those below it, took meanwhile. */
u64 group_members_grown(const struct groups *members, const struct report *r, u64 cgroup);
/* Adds those with most memory to the evidence; the first is the finding's process. */
void group_members_tell(
	const struct groups *members, struct report *r, struct finding *f, u64 cgroup);

#endif
