/* Blocks that somebody else has taken from the allocator, or is about to give back. */
#ifndef MEMWHY_TRACKER_FOREIGN_BLOCKS_H
#define MEMWHY_TRACKER_FOREIGN_BLOCKS_H

#include "tracker/calls.h"

/* frame: of the function that the program called. */
OURS void block_told(const u64 *frame, void *p, size_t size);
OURS void block_freed(void *p);

#endif
