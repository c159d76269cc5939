/* The tables beside the runs, and how kinds, zones and results are named. Private to the view. */
#ifndef MEMWHY_PROBES_COMPACTION_TABLES_H
#define MEMWHY_PROBES_COMPACTION_TABLES_H

#include "analysis/cells.h"
#include "probes/compaction/compaction.h"
#include "report/view.h"

const char *compaction_kind_name(u32 kind);
const char *compaction_mode_name(u32 sync);
/* As the kernel of the recording names them; a number where it does not tell. Text of r. */
const char *compaction_status_name(struct report *r, u32 status);
/* A member of the key or of a run. */
cell_get compaction_kind_cell, compaction_mode_cell, compaction_zone_cell, compaction_order_cell;

#define COMPACTION_ORDER_HELP "order that a free block is wanted of; -1: for none, the whole zone"

struct compaction_tables {
	struct groups direct, zones, deferrals, kcompactd;
};

void compaction_tables_init(struct compaction_tables *t);
int compaction_tables_feed(struct compaction_tables *t, const struct rec *r);
int compaction_tables_report(const struct compaction_tables *t, struct report *r);
void compaction_tables_reset(struct compaction_tables *t);
void compaction_tables_free(struct compaction_tables *t);

extern const struct view_table compaction_side_tables[];

#endif
