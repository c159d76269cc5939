/*
 * What resolving may cost. Debug information is read from files that anybody on the host may
 * have written, and some honest files are gigabytes: each read is first taken out of a budget of
 * bytes, and loops over debug information stop when the time or the memory is used up. Knows
 * nothing of ELF.
 */
#ifndef MEMWHY_SYM_BUDGET_H
#define MEMWHY_SYM_BUDGET_H

#include "base/util.h"

struct sym_budget {
	u64 bytes_left;	    /* of symbol tables and debug sections still allowed to be read */
	u64 ns_left;	    /* of time in debug information */
	u64 started_ns;	    /* of the present stretch of work, 0 outside of one */
	u64 rss_checked_ns; /* when the resident size was last looked at */
	u64 max_rss_bytes;
	bool exhausted; /* time or memory: stays set */
};

/* max_growth_bytes: how much larger than now this process may become. */
void budget_init(struct sym_budget *b, u64 bytes, u64 ns, u64 max_growth_bytes);
/* Takes bytes out of the budget: 0, or -EFBIG (nothing is taken then). */
int budget_take(struct sym_budget *b, u64 bytes);
void budget_give_back(struct sym_budget *b, u64 bytes);
/* Brackets around work in debug information; they do not nest. */
void budget_begin(struct sym_budget *b);
void budget_end(struct sym_budget *b);
/* True once the time or memory is used up. Cheap: call it in each turn of a long loop. */
bool budget_exhausted(struct sym_budget *b);

#endif
