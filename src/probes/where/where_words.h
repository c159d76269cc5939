/* Private to the where probe: what a row of a ledger is called, and what one can do about it. */
#ifndef MEMWHY_PROBES_WHERE_WORDS_H
#define MEMWHY_PROBES_WHERE_WORDS_H

#include "probes/where/where.h"
#include "report/report.h"

struct where_words {
	const char *name;
	const char *dig;   /* a command that looks deeper; NULL: there is none */
	const char *free;  /* what frees it; NULL: nothing does but its owner */
	const char *price; /* of that, or its undo */
	bool always;       /* shown even where it is 0 */
};

/* Never NULL: "rest" for what is no row. */
const struct where_words *where_words(u32 scope, u32 row);
/* What of a row can be taken back without harm; false: not known, or it has no such part. */
bool where_reclaimable(const struct where_ledger *l, u32 row, u64 *ret);

#endif
