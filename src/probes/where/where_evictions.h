/* Private to the where probe: who pushes whose files out of the page cache, as a table. */
#ifndef MEMWHY_PROBES_WHERE_EVICTIONS_H
#define MEMWHY_PROBES_WHERE_EVICTIONS_H

#include "base/groups.h"
#include "probes/cache/cache.h"
#include "report/view.h"

struct where_evictions {
	struct groups readers; /* tgid -> struct reader */
	struct groups pairs;   /* struct pair -> struct lost */
	struct groups files;   /* struct file -> struct lost */
	u64 pair_lost;         /* refaults that are not in pairs: too many processes */
	u64 file_lost;         /* refaults that are in pairs, and not in files */
	u64 on_ns, covered_ns; /* 0: all the time */
	bool seen;             /* any page came in */
};

extern const struct view_table where_evictions_tables[];

void where_evictions_init(struct where_evictions *e);
/* Takes REC_CACHE_AGG, REC_CACHE_FILE and REC_CACHE_SAMPLED; false: it is another record. */
bool where_evictions_feed(struct where_evictions *e, const struct rec *r, int *ret_rc);
int where_evictions_report(const struct where_evictions *e, struct report *r);
/* Another interval begins. */
void where_evictions_reset(struct where_evictions *e);
void where_evictions_free(struct where_evictions *e);

#endif
