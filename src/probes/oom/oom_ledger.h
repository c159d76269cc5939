/* Where memory was at a kill, as a table: by the kernel's report, and by the last look before. */
#ifndef MEMWHY_PROBES_OOM_LEDGER_H
#define MEMWHY_PROBES_OOM_LEDGER_H

#include "probes/oom/oom_kills.h"
#include "report/view.h"

extern const struct view_table oom_ledger_tables[];

/* NULL: no memory. */
struct table *oom_ledger_open(struct report *r);
int oom_ledger_rows(struct table *t, struct report *r, const struct kill *x,
	const struct kill_detail *d, const char *oom_cgroup);

#endif
