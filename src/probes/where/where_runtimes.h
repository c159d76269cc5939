/* Private to the where probe: heaps of runtimes and of other allocators, as a table and advice. */
#ifndef MEMWHY_PROBES_WHERE_RUNTIMES_H
#define MEMWHY_PROBES_WHERE_RUNTIMES_H

#include "base/vec.h"
#include "probes/where/where.h"
#include "report/view.h"

/* To be zeroed before its first use. */
struct where_runtimes {
	VEC(struct where_runtime) list; /* of the latest look at each process */
};

extern const struct view_table where_runtimes_tables[];

int where_runtimes_feed(struct where_runtimes *a, const struct where_runtime *r);
int where_runtimes_report(const struct where_runtimes *a, struct report *r);
/* Adds a finding where one keeps a good part of the process's memory without using it. */
void where_runtimes_advise(
	const struct where_runtimes *a, const struct where_ledger *l, struct report *r);
void where_runtimes_free(struct where_runtimes *a);

#endif
