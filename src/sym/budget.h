/*
 * What resolving may cost. Debug information is read from files that anybody on the host may
 * have written, and some honest files are gigabytes. Each read is first taken out of a budget of
 * bytes. Each stretch of work in debug information has a limit of time, and of the memory this
 * process may have grown to, in proportion to what was read: a few MiB made with intent can cost
 * hours and all memory otherwise. Who goes over it gives that file up. Knows nothing of ELF.
 */
#ifndef MEMWHY_SYM_BUDGET_H
#define MEMWHY_SYM_BUDGET_H

#include "base/util.h"

struct sym_budget {
	u64 bytes_left; /* of symbol tables and debug sections still allowed to be read */
	u64 bytes_taken;
	u64 ns_left; /* of time in debug information, over all files */
	u64 start_rss_bytes;
	u64 rss_checked_ns;

	/* The present stretch of work. */
	u64 begun_ns;
	u64 deadline_ns;
	bool over;
};

void budget_init(struct sym_budget *b, u64 bytes, u64 ns);
/* Takes bytes out of the budget: 0, or -EFBIG (nothing is taken then). */
int budget_take(struct sym_budget *b, u64 bytes);
void budget_give_back(struct sym_budget *b, u64 bytes);
/* Brackets around a stretch of work; they do not nest. */
void budget_begin(struct sym_budget *b, u64 max_ns);
/* 0, or -ETIMEDOUT if the work went over its limit. */
int budget_end(struct sym_budget *b);
/* True once the work is to be broken off. Cheap: call it in each turn of a long loop. */
bool budget_over(struct sym_budget *b);

#endif
