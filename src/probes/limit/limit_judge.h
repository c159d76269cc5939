/*
 * Computes how much a group needs from what was observed. Pure: records in, numbers out. Owns the
 * model; produces no text.
 */
#ifndef MEMWHY_PROBES_LIMIT_JUDGE_H
#define MEMWHY_PROBES_LIMIT_JUDGE_H

#include <stdbool.h>

#include "probes/limit/limit.h"

/* What was seen. h.kind 0 where a record did not come. */
struct limit_facts {
	struct limit_group first, last;
	struct limit_mapped early, mapped; /* early: the latest before three quarters of the time */
	struct limit_files files;
};

/* Why there is no advice. */
enum limit_thin {
	LIMIT_ENOUGH,
	LIMIT_NO_GROUP,
	LIMIT_OF_SOME,     /* uses of files are of some tasks only */
	LIMIT_TOO_SHORT,   /* less than LIMIT_LEAST_NS */
	LIMIT_NO_READS,    /* who reads which pages is not known here, and there is page cache */
	LIMIT_LOST,        /* uses of pages were lost */
	LIMIT_REFUSED,     /* processes could not be looked at */
	LIMIT_UNSEEN,      /* nothing of its anonymous memory was seen touched */
	LIMIT_NOT_SETTLED, /* it still touched new memory when the look ended */
	LIMIT_STARVED, /* what is mapped was being reclaimed: what it touches is not all there */
};

#define LIMIT_LEAST_NS (5 * 1000000000ULL)

enum limit_verdict { LIMIT_UNKNOWN, LIMIT_SHORT, LIMIT_FITS, LIMIT_ROOMY, LIMIT_UNLIMITED };

struct limit_need {
	int thin;      /* enum limit_thin */
	int verdict;   /* enum limit_verdict */
	bool starved;  /* it met its limit, or read back what had been reclaimed */
	bool swaps;    /* it can use swap */
	bool unseen;   /* … and is to need none of its anonymous memory: see LIMIT_UNSEEN */
	bool pressed;  /* stall_ratio is known */
	bool whole;    /* … but is that of the machine */
	bool has_cost; /* expected_ratio is known */
	bool blind;    /* not every use of files could be seen: cold_bytes may be needed */
	u64 elapsed_ns;
	u64 anon_bytes;               /* needed of it */
	u64 read_bytes, mapped_bytes; /* files, used more than once */
	u64 once_bytes, cold_bytes;
	u64 elsewhere_bytes; /* used, but charged to other groups */
	u64 late_bytes;      /* first used in the last quarter */
	u64 error_bytes;     /* of read_bytes, two standard deviations of sampling */
	u64 needed_bytes, low_bytes, high_bytes, advised_bytes;
	u64 limit_bytes; /* the lower one of limit and high; LIMIT_NONE */
	double stall_ratio, expected_ratio;
};

/* lost: uses of pages that were. */
void limit_judge(const struct limit_facts *f, u64 lost, u64 uses, struct limit_need *ret);

#endif
