/*
 * Finds the block that an access hit, and follows what becomes of those blocks, for probes that see
 * accesses (capture/block_access.h). Takes the events of the process and the accesses, in order of
 * time. Blocks without an access are not reported.
 *
 * A block exists from the moment the allocator returns it until free or realloc is called. If a
 * thread accesses memory outside any block, and its next allocation covers that memory, the access
 * counts for that allocation: calloc and realloc write to it before they return it, and allocators
 * keep a few words beside it (NUMA_BLOCK_EDGE).
 *
 * For a process whose faults are counted (heap_process.residence) nothing is delivered: each fault
 * is counted.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_BLOCK_LOOKUP_H
#define MEMWHY_PROBES_HEAP_COLLECT_BLOCK_LOOKUP_H

#include "base/groups.h"
#include "base/vec.h"
#include "objects/ranges.h"
#include "probes/heap/residence/residence.h"

struct ring_reader;
struct heap_process;

/* An access. For page faults (residence.h) also: */
struct touch {
	u64 address;
	u64 time_ns;
	u64 ticks; /* the same, by the tracker's clock */
	u64 sp;
	u8 fault;                   /* enum fault_what; 0: it is no fault */
	struct residence_key place; /* where it was counted */
};

enum block_lookup_what { TOUCHED_HELD, TOUCHED_FREED, TOUCHED_RESIZED };

/* A block to report. */
struct block_lookup_block {
	u8 what;  /* enum touched_what */
	s16 node; /* where the thread ran; -1: not known */
	u32 tgid;
	u32 tid; /* who allocated, freed or resized it */
	u32 program, stack;
	u64 address, bytes, old_address;
	u64 ticks; /* when, by the tracker's clock; 0: time_ns, just before an access */
	u64 time_ns;
	u64 begin_ns; /* of TOUCHED_HELD: when it was allocated (to the ms) … */
	bool early;   /* … or first accessed by the call that was about to return it */
};

typedef VEC(struct block_lookup_block) block_lookup_buffer;

struct block_lookup_node {
	u64 ms;
	u32 thread;
	u32 node; /* plus one; 0: not known */
};

struct block_lookup {
	block_lookup_buffer *out; /* borrowed */
	u64 least_bytes;          /* smaller blocks are not reported */
	struct ranges big;        /* blocks above ACCOUNT_SMALL */
	struct groups told;       /* address -> u8: a block there was reported, and lives */
	VEC(struct block_lookup_node) nodes; /* where threads went, in the order of time */
	u64 resizes_left; /* that may be told of: of blocks seen to be used, not of all there are */
};

struct block_lookup *block_lookup_new(block_lookup_buffer *out, u64 least_bytes);
void block_lookup_free_all(struct block_lookup *t);

/* Events of the ring reader's process: 0 or -ENOMEM. ticks: their time. The account has taken an
 * allocation before, and takes a free afterwards. */
int block_lookup_alloc(struct ring_reader *c, u64 address, u64 bytes, bool moved, u64 ticks);
int block_lookup_free(struct ring_reader *c, u64 address, u64 ticks);
int block_lookup_node(struct ring_reader *c, u32 node, u64 now_ms);

/* A block that a fork has as a copy. */
struct block_lookup_copy {
	u64 address;
	u64 tgid, fork_ns; /* the fork, and when it was made */
};

/* An access by a fork that has told nothing of itself, as it neither allocated nor freed: its
 * blocks are those that `had` had then, its parent or who that one is such a fork of. copy: of that
 * fork. told: struct touched_copy -> u8, whether that block was told of. */
int block_lookup_ask_copy(const struct heap_process *had, u64 then_ns,
	struct block_lookup_copy copy, const struct touch *touch, struct groups *told);
/* It tells of itself from now on: what was told of is known to be. */
int block_lookup_copies_take(struct heap_process *p, u64 fork_ns, const struct groups *told);

/* An access by thread `tid`. parent: NULL, or the process it is a fork of. */
int block_lookup_ask(struct heap_process *p, const struct heap_process *parent, u32 tid,
	const struct touch *touch);

#endif
