/* When pages are looked at in bursts. */
#ifndef MEMWHY_PROBES_PAGES_PACE_H
#define MEMWHY_PROBES_PAGES_PACE_H

#include "probes/probe.h"

/* capture.state of the probe. */
struct pages_pace {
	u64 pages; /* allocated since the boot, when last asked */
	u64 time_ns;
};

/* Are so many pages allocated that CPUs could get in each other's way? Against the last call. */
bool pages_busy(struct capture *c);
int pages_sampled_send(struct capture *c, u64 on_ns, u64 covered_ns);

#endif
