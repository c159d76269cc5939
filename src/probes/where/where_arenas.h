/* Private to the where probe: arenas of glibc's malloc, as a table, and what would shrink them. */
#ifndef MEMWHY_PROBES_WHERE_ARENAS_H
#define MEMWHY_PROBES_WHERE_ARENAS_H

#include "base/vec.h"
#include "probes/where/where.h"
#include "report/view.h"

/* To be zeroed before its first use. */
struct where_arenas {
	VEC(struct where_arena) list; /* of the latest look at each process */
};

extern const struct view_table where_arenas_tables[];

int where_arenas_feed(struct where_arenas *a, const struct where_arena *r);
/* The table, where there is something in it or nothing else was asked for. */
int where_arenas_report(const struct where_arenas *a, struct report *r);
/* Adds a finding where a process keeps a good part of its memory without using it. */
void where_arenas_advise(
	const struct where_arenas *a, const struct where_ledger *l, struct report *r);
void where_arenas_free(struct where_arenas *a);

#endif
