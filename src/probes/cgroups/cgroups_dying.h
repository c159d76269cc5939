/*
 * Removed control groups that the kernel keeps: how many, and where most of them were. Private to
 * the cgroups probe.
 */
#ifndef MEMWHY_PROBES_CGROUPS_DYING_H
#define MEMWHY_PROBES_CGROUPS_DYING_H

#include "capture/capture.h"
#include "probes/cgroups/cgroups.h"
#include "probes/cgroups/cgroups_tree.h"

/* To be zeroed before its first use. */
struct cgroups_dying {
	u64 first, last;
	bool known;
};

/* After a scan of the tree. */
int cgroups_dying_send(struct capture *c, struct cgroups_dying *d, const struct cgroups_tree *t);

#endif
