/*
 * Which block of an attached process an access was in, for who sees accesses
 * (capture/block_access.h): of the blocks that live when the accesses are settled. One that was
 * there before the access and is there still was it; what was freed meanwhile, or was there before
 * memwhy, is of no block.
 */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_BLOCKS_H
#define MEMWHY_PROBES_HEAP_ATTACH_BLOCKS_H

#include "base/groups.h"
#include "base/vec.h"
#include "capture/block_access.h"

struct attached;
struct capture;
struct heap_attach;

struct attached_access {
	u64 address, time_ns;
	u32 process; /* number */
};

struct attached_blocks {
	struct blocks face;
	struct heap_attach *heap;
	struct attached *attached;
	VEC(struct attached_access) accesses;
	struct groups told; /* key in the map -> struct attached_told */
	u64 looked_ns;      /* the last look at all blocks */
	u64 n_accesses, n_found;
};

/* Where somebody asks (capture.blocks_wanted): from now on it may. */
void attached_blocks_begin(
	struct attached_blocks *b, struct capture *c, struct heap_attach *h, struct attached *a);
/* At the end: how much of what was asked could be answered. */
void attached_blocks_tell(const struct attached_blocks *b, struct capture *c);
void attached_blocks_free(struct attached_blocks *b);

#endif
