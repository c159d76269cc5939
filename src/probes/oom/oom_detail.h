/*
 * What stood around a kill, as tables: processes, groups, zones, totals, slab caches, pressure.
 */
#ifndef MEMWHY_PROBES_OOM_DETAIL_H
#define MEMWHY_PROBES_OOM_DETAIL_H

#include "probes/oom/oom_kills.h"
#include "report/view.h"

/* The first column of all of them. */
#define KILL_COLUMN                                                                \
	{                                                                          \
		"kill", "KILL", CELL_U64, UNIT_ID, 0, "number of the kill, from 1" \
	}

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

/* Fills what is known; ret_span may be NULL. */
void oom_growth_cells(const struct growth *g, struct cell *ret_grown, struct cell *ret_span,
	struct cell *ret_pace);
/* A copy of at most max bytes, owned by the report; NULL for "". */
const char *oom_text(struct report *r, const char *s, int max);

#endif
