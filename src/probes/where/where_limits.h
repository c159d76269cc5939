/* Private to the where probe: limits of a control group and of those above it, as a table. */
#ifndef MEMWHY_PROBES_WHERE_LIMITS_H
#define MEMWHY_PROBES_WHERE_LIMITS_H

#include "base/vec.h"
#include "probes/where/where.h"
#include "report/view.h"

/* To be zeroed before its first use. */
struct where_limits {
	VEC(struct where_limit) list; /* of the latest look */
};

extern const struct view_table where_limits_tables[];

int where_limits_feed(struct where_limits *l, const struct where_limit *r);
int where_limits_report(const struct where_limits *l, struct report *r);
void where_limits_free(struct where_limits *l);

#endif
