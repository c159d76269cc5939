/* Private to the where probe: which code took pages of the kernel's and keeps them, as a table. */
#ifndef MEMWHY_PROBES_WHERE_TAKEN_H
#define MEMWHY_PROBES_WHERE_TAKEN_H

#include "base/vec.h"
#include "probes/pages/pages.h"
#include "report/view.h"

/* To be zeroed before its first use. */
struct where_taken {
	VEC(struct pages_held) list; /* of the latest look */
	struct pages_follow follow;  /* h.size 0: pages were not followed */
};

extern const struct view_table where_taken_tables[];

/* Takes REC_PAGES_FOLLOW and REC_PAGES_HELD; false: it is another record. */
bool where_taken_feed(struct where_taken *t, const struct rec *r, int *ret_rc);
int where_taken_report(const struct where_taken *t, struct report *r);
void where_taken_free(struct where_taken *t);

#endif
