/*
 * Heap blocks, from a probe that follows them to one that sees accesses to memory: the latter
 * reports each access and gets a REC_NUMA_BLOCK record of the block it was in, so only accessed
 * blocks are sent.
 */
#ifndef MEMWHY_CAPTURE_BLOCK_ACCESS_H
#define MEMWHY_CAPTURE_BLOCK_ACCESS_H

#include "base/types.h"

struct capture;

struct blocks {
	void *arg;
	/* An access; in any order since the last settle. */
	int (*touched)(void *arg, u32 tgid, u32 tid, u64 address, u64 time_ns);
	/* A process is a copy of another (0: it is not, any more): as soon as that is known. NULL:
	 * nobody wants to know, as forks are not followed. */
	int (*forked)(void *arg, u32 tgid, u32 from_tgid, u64 time_ns);
	/* All accesses before this time were reported: sends the blocks they were in. */
	int (*settle)(struct capture *c, void *arg, u64 time_ns);
};

#endif
