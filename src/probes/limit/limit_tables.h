/* Private to the limit probe: its tables, and what it advises. */
#ifndef MEMWHY_PROBES_LIMIT_TABLES_H
#define MEMWHY_PROBES_LIMIT_TABLES_H

#include "probes/limit/limit_judge.h"
#include "report/view.h"

extern const struct view_table limit_tables_all[];

int limit_tables_report(const struct limit_facts *f, const struct limit_need *n, struct report *r);
/* What to set, or why there is no advice. */
void limit_advise(const struct limit_facts *f, const struct limit_need *n, struct report *r);

#endif
