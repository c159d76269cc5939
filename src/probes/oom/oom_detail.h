/*
 * What stood around a kill, as tables: processes, groups, zones, totals, slab caches, pressure.
 */
#ifndef MEMWHY_PROBES_OOM_DETAIL_H
#define MEMWHY_PROBES_OOM_DETAIL_H

#include "analysis/cells.h"
#include "probes/oom/oom_kills.h"
#include "report/view.h"

/* The first column of all of them; oom_kill_cell: of rows whose view begins with the kill. */
#define OOM_KILL_CELL(get_) \
	CELL_BY(0, "kill", "KILL", CELL_U64, UNIT_ID, 0, "number of the kill, from 1", get_)
cell_get oom_kill_cell;

struct oom_details {
	struct table *processes, *groups, *zones, *memory, *slabs, *pressure, *ledger;
};

extern const struct view_table oom_detail_tables[];

/* All of them, empty. -ENOMEM. */
int oom_details_open(struct report *r, struct oom_details *ret);
/* Rows of a kill. oom_cgroup: path of the group at its limit, NULL: it was none. */
int oom_detail_rows(struct oom_details *t, struct report *r, const struct kills *k,
	const struct kill *x, const char *oom_cgroup);
/* May the process have led to the kill: is it below that group? */
bool oom_concerns(struct report *r, const struct kill_process *p, const char *oom_cgroup);

/* A struct growth: empty where it is not known. */
cell_get oom_grown_cell, oom_span_cell, oom_pace_cell;
/* A copy of at most max bytes, owned by the report; NULL for "". */
const char *oom_text(struct report *r, const char *s, int max);

/* Where memory was at a kill: by the kernel's report, and by the last look before (oom_ledger.c).
 */
extern const struct view_table oom_ledger_tables[];

/* NULL: no memory. */
struct table *oom_ledger_open(struct report *r);
int oom_ledger_rows(struct table *t, struct report *r, const struct kill *x,
	const struct kill_detail *d, const char *oom_cgroup);

#endif
