/*
 * Private to the capture of numa: what its programs were skipped for last. A program finds what was
 * missed before it in the kernel's counter; after the last one there is only /proc/vmstat.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_UNTOLD_H
#define MEMWHY_PROBES_NUMA_CAPTURE_UNTOLD_H

#include "capture/attach.h"
#include "capture/capture.h"

/* Hint faults and pages moved: what /proc/vmstat has, less what was sent. */
struct numa_untold {
	s64 hints, pages;
	bool known;
};

/* Where the programs are attached; anywhere else it is not known. */
void numa_untold_read(struct attached *a, struct numa_untold *ret);
/* Once the programs run no more: counts as seen and lost by how much it grew from the first to the
 * second. */
int numa_untold_settle(struct attached *a, struct capture *c, struct numa_untold v[2]);

#endif
