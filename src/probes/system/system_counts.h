/* Private to the system probe: the kernel's counts of its own objects, and which of them were sent.
 */
#ifndef MEMWHY_PROBES_SYSTEM_COUNTS_H
#define MEMWHY_PROBES_SYSTEM_COUNTS_H

#include "base/str.h"
#include "capture/capture.h"

/* To be zeroed before its first use. */
struct system_counts {
	VEC(u64) sent; /* by the row in sys/memory/counts.h, plus one; 0: not yet */
	struct str text;
	u64 next_ns;
};

/* Reads them, at most once a second but at the end, and sends those that changed. */
int system_counts_send(struct capture *c, struct system_counts *s, u64 now_ns);
void system_counts_free(struct system_counts *s);

#endif
