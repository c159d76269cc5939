/* What the pages probe asks the system beside its events. */
#ifndef MEMWHY_PROBES_PAGES_HOST_H
#define MEMWHY_PROBES_PAGES_HOST_H

#include "probes/probe.h"

/* Elements of the table of drained pages on this machine, or in a burst: a power of two. */
u32 pages_drained_slots(bool burst);

/* Sends the names of gfp flags and migratetypes, and the limits of the per-CPU lists. */
extern const struct probe_sampler pages_sampler;

#endif
