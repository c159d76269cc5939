/* Private to the where probe: what the pages themselves say, beside the ledger. */
#ifndef MEMWHY_PROBES_WHERE_CENSUS_H
#define MEMWHY_PROBES_WHERE_CENSUS_H

#include "probes/where/where.h"
#include "report/view.h"

struct capture;
struct where;

extern const struct view_table where_census_tables[];

/* Takes a census and sends it. */
int where_census_send(struct capture *c, struct where *w);
/* The table. l: the ledger beside it; NULL: there is none. */
int where_census_report(
	const struct where_census *s, const struct where_ledger *l, struct report *r);

#endif
