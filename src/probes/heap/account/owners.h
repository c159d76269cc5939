/*
 * Who allocated blocks, and where: one number for each existing pair of site and thread, so that a
 * block needs to store no more than that.
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_OWNERS_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_OWNERS_H

#include "base/vec.h"

#define OWNERS_BITS 24

struct owner {
	u32 site, thread; /* indices in the account */
};

struct owners {
	VEC(struct owner) all;
	u32 *of; /* by hash: index in all, plus one */
	u32 n_of;
};

/* Finds or adds it. -ENOSPC: there are as many as have numbers; -ENOMEM. */
int owners_get(struct owners *o, u32 site, u32 thread, u32 *ret);
void owners_free(struct owners *o);

#endif
