/*
 * An estimate of how much of a process's huge pages is not used, from a random sample of them.
 * Reads memory of the process, keeps only how many base pages were zero.
 */
#ifndef MEMWHY_SYS_HUGE_WASTE_H
#define MEMWHY_SYS_HUGE_WASTE_H

#include "sys/process/smaps.h"

#define WASTE_SAMPLE_MAX 64

struct waste {
	u32 candidates; /* huge pages of which the sample was drawn */
	u32 sampled;
	bool exact;      /* the kernel told which pages are huge */
	u64 waste_bytes; /* estimated */
	u64 error_bytes; /* twice the standard error of it */
	u32 untouched;   /* of the sampled, all zero: set aside in advance, not used in part */
};

/* Looks at mappings that are not MADV_DONTDUMP; sample: at most WASTE_SAMPLE_MAX. -EPERM: its
 * memory may not be read; -ENODATA: no huge page was found in them; or what the system call said.
 */
int waste_estimate(int pid, const struct smaps *maps, u32 sample, struct waste *ret);
/* From the share of zero-filled pages in each of n sampled huge pages. */
void waste_compute(const double *shares, u32 n, u32 candidates, u64 huge_bytes, struct waste *ret);

#endif
