/*
 * --filter: the text, made into comparisons and where each leads to. Knows nothing of events: what
 * the names stand for is looked up later (count_bind.h).
 *
 *   filter     = term { "||" term }
 *   term       = factor { "&&" factor }
 *   factor     = "!" factor | "(" filter ")" | NAME op VALUE
 *   op         = "==" | "!=" | "<" | "<=" | ">" | ">=" | "&" | "~"
 *   VALUE      = number, also 0x.. and with K, M, G or T (1024); word; 'text' or "text"
 */
#ifndef MEMWHY_PROBES_COUNT_FILTER_H
#define MEMWHY_PROBES_COUNT_FILTER_H

#include "base/err.h"
#include "probes/count/count.h"

#define FILTER_NAME 64

enum filter_op {
	FILTER_EQ,
	FILTER_NE,
	FILTER_LT,
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	FILTER_BITS,
	FILTER_GLOB
};

struct filter_test {
	char name[FILTER_NAME];
	char value[FILTER_NAME];
	u32 at;         /* where the name begins in the text, from 1 */
	u8 op;          /* enum filter_op */
	u8 yes, no;     /* as in count_test */
	bool is_number; /* value is one, and not quoted */
	bool negative;
	u64 number; /* two's complement where negative */
};

struct filter {
	u32 n; /* 0: everything passes */
	struct filter_test tests[COUNT_TESTS];
};

/* -EINVAL: err says where. NULL text: the empty filter. */
int filter_parse(const char *text, struct filter *ret, struct err *err);

#endif
