/* The heap blocks that sampled accesses were in, of whoever follows the heap
 * (capture/block_access.h). */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_BLOCKS_H
#define MEMWHY_PROBES_NUMA_CAPTURE_BLOCKS_H

#include "capture/capture.h"
#include "probes/numa/numa.h"

/* Says why nobody follows the heap of the command, where that is so. */
int numa_blocks_missing(struct capture *c);
/* Asks for the block of an access. */
int numa_block_ask(struct capture *c, const struct numa_sample *s);
/* A process began, became another program, or ended: a fork's blocks are those of its parent. */
int numa_blocks_task(struct capture *c, const struct numa_task *t);
/* At the end of a drain. *drained_ns: 0 at first; kept between. 1: once more, at once. */
int numa_blocks_settle(struct capture *c, u64 *drained_ns);

#endif
