/*
 * Private to the account: a block in 24 bytes.
 *   where  address >> 3 (45 bits), thread (19)
 *   what   size (40), site (24)
 *   when   the thread's count of allocations (28), time in ms (36)
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_BLOCK_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_BLOCK_H

#include "probes/heap/account.h"

#define ADDRESS_BITS 45
#define THREADS ((1U << 19) - 1)
#define SIZE_BITS 40
#define SITES ((1U << 24) - 1)
#define COUNT_BITS 28
#define TIME_SHIFT COUNT_BITS
#define MASK(bits) ((1ULL << (bits)) - 1)

static inline u64 block_key(const struct account_block *b)
{
	return b->where & MASK(ADDRESS_BITS);
}

static inline u64 block_size(const struct account_block *b)
{
	return b->what & MASK(SIZE_BITS);
}

#define BEAT_MASK 0xffff /* of slots: a beat each */

static inline void beat(u32 *at, u64 i)
{
	if (at && !(i & BEAT_MASK))
		__atomic_add_fetch(at, 1, __ATOMIC_RELAXED);
}

#endif
