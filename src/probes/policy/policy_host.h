/*
 * The facts of this machine that the BPF programs need: its nodes, which node a page frame is on,
 * and where the kernel maps memory, so that they can read page tables.
 */
#ifndef MEMWHY_PROBES_POLICY_HOST_H
#define MEMWHY_PROBES_POLICY_HOST_H

#include "probes/policy/policy.h"
#include "sys/zoneinfo.h"

struct policy_host {
	struct policy_config config; /* page_offset 0: page tables cannot be read, because: */
	char missing[96];
	u8 frames[POLICY_FRAMES];
};

/* Read once. Never NULL. */
const struct policy_host *policy_host(void);

/* The table of frames, from the zones: each entry stands for 2^*ret_shift page frames. */
void policy_frames_fill(const struct zoneinfo *zones, u8 frames[POLICY_FRAMES], u32 *ret_shift);

#endif
