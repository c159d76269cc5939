/* The tables of the whole machine: devices, owners, compressed memory, counters. Private to the
 * view. */
#ifndef MEMWHY_PROBES_SWAP_TABLES_H
#define MEMWHY_PROBES_SWAP_TABLES_H

#include "base/groups.h"
#include "report/view.h"

struct swap_tables {
	struct groups devices;  /* name -> struct swap_device, the last */
	struct groups owners;   /* process id -> struct swap_owner, the last */
	struct groups counters; /* name and node -> first and last value */
};

extern const struct view_table swap_side_tables[];

void swap_tables_init(struct swap_tables *t);
int swap_tables_feed(struct swap_tables *t, const struct rec *r);
int swap_tables_report(const struct swap_tables *t, struct report *r);
void swap_tables_reset(struct swap_tables *t);
void swap_tables_free(struct swap_tables *t);

#endif
