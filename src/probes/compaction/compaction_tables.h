/* The tables beside the runs, and how kinds, zones and results are named. Private to the view. */
#ifndef MEMWHY_PROBES_COMPACTION_TABLES_H
#define MEMWHY_PROBES_COMPACTION_TABLES_H

#include "base/groups.h"
#include "probes/compaction/compaction.h"
#include "report/view.h"

const char *compaction_kind_name(u32 kind);
const char *compaction_mode_name(u32 sync);
/* As the kernel of the recording names them; a number where it does not tell. Text of r. */
const char *compaction_status_name(struct report *r, u32 status);
struct cell compaction_zone_cell(struct report *r, u32 zone);
struct cell compaction_order_cell(s32 order);

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
