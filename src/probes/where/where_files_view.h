/* Private to the where probe: which files have pages in memory, as tables (--files). */
#ifndef MEMWHY_PROBES_WHERE_FILES_VIEW_H
#define MEMWHY_PROBES_WHERE_FILES_VIEW_H

#include "base/vec.h"
#include "probes/where/where.h"
#include "report/view.h"

struct where_files {
	VEC(struct where_file) files;
	VEC(struct where_mount) mounts;
	VEC(struct where_removed) removed;
	u32 sample; /* of the last record */
};

extern const struct view_table where_files_tables[];

void where_files_free(struct where_files *f);
/* False: it is no record of these. */
bool where_files_feed(struct where_files *f, const struct rec *r, int *ret_rc);
/* l: the ledger beside it; NULL: there is none. */
int where_files_report(const struct where_files *f, const struct where_ledger *l, struct report *r);

#endif
