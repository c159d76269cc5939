/*
 * The calls on NUMA memory policy in words: modes, flags and node masks by name, and what an error
 * means for the very call that got it. Pure; owns no records.
 */
#ifndef MEMWHY_SYS_MEMPOLICY_H
#define MEMWHY_SYS_MEMPOLICY_H

#include "base/str.h"
#include "sys/calls/flags.h"
#include "sys/calls/mempolicy_abi.h"

extern const struct flag mempolicy_modes[]; /* with their flags */
extern const struct flag mempolicy_mbind_flags[];
extern const struct flag mempolicy_move_flags[]; /* move_pages */
extern const struct flag mempolicy_get_flags[];

/* "0-1,3"; "none" for an empty mask. */
void mempolicy_nodes_add(struct str *s, const u64 *bits, u32 n_words);

/* A call, as far as its meaning goes. What a call does not have is 0. */
struct mempolicy_args {
	u32 call; /* enum mempolicy_call */
	u32 mode; /* of mbind and set_mempolicy, with its flags */
	u64 flags;
	u64 maxnode;
	u64 address, bytes;
	u64 node;   /* of set_mempolicy_home_node */
	u8 mask[2]; /* enum mask_state of each mask */
	bool cut;   /* maxnode cuts nodes off that the mask has */
};

/* What errno means for this call: a sentence without a full stop. NULL where it is not known. */
const char *mempolicy_error(const struct mempolicy_args *a, int error);

#endif
