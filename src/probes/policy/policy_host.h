/* The facts of this machine that the BPF programs need: its nodes, and whether pages can be looked
 * at. */
#ifndef MEMWHY_PROBES_POLICY_HOST_H
#define MEMWHY_PROBES_POLICY_HOST_H

#include "probes/policy/policy.h"
#include "sys/memory/zoneinfo.h"

struct policy_host {
	struct policy_config config; /* places 0: page tables cannot be read, because: */
	char missing[96];
};

/* Read once. Never NULL. */
const struct policy_host *policy_host(void);

#endif
