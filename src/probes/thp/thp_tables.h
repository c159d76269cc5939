/*
 * Private to the thp view: the tables beside the one of what tasks do: symptoms, settings,
 * counters, sizes, resident huge pages, collapses.
 */
#ifndef MEMWHY_PROBES_THP_TABLES_H
#define MEMWHY_PROBES_THP_TABLES_H

#include "analysis/thp_facts.h"
#include "probes/thp/thp.h"
#include "report/view.h"

struct thp_tables {
	struct thp_facts facts;
	struct groups collapses; /* struct collapse_key -> u64 */
};

extern const struct view_table thp_side_tables[];

void thp_tables_init(struct thp_tables *t);
void thp_tables_free(struct thp_tables *t);
void thp_tables_reset(struct thp_tables *t);
int thp_tables_value(struct thp_tables *t, const struct thp_value *v);
int thp_tables_process(struct thp_tables *t, const struct thp_process *p);
/* Also of single events, as one made of each. */
int thp_tables_agg(struct thp_tables *t, const struct thp_agg *r);
/* Fills the tables that stand before, or behind, that of what tasks do. */
int thp_tables_report_first(struct thp_tables *t, struct report *r);
int thp_tables_report(struct thp_tables *t, struct report *r, bool each);

/* "succeeded", as the kernel that was looked at calls it; else its number. */
const char *thp_result_name(struct report *r, u32 result);

#endif
