/* The slot of a number in a log2 histogram, as BPF programs compute it. */
#ifndef MEMWHY_BPF_LOG2_H
#define MEMWHY_BPF_LOG2_H

#include "base/types.h"

/*
 * The slot of v in a log2 histogram: 0 for 0, i for 2^(i-1) <= v < 2^i, at most `max`. Without a
 * branch: to the verifier each doubles what follows.
 */
static inline __attribute__((always_inline)) u32 log2_branchless(u64 v, u32 max)
{
	u64 high = ((v >> 32) + 0xffffffff) >> 32, r = high << 5; /* 1 where there are high bits */
	s64 left;

	v >>= r;
	high = ((v >> 16) + 0xffff) >> 16;
	v >>= high << 4;
	r += high << 4;
	high = ((v >> 8) + 0xff) >> 8;
	v >>= high << 3;
	r += high << 3;
	high = ((v >> 4) + 0xf) >> 4;
	v >>= high << 2;
	r += high << 2;
	high = ((v >> 2) + 3) >> 2;
	v >>= high << 1;
	r += high << 1;
	left = (s64)max - (s64)(r + (v >> 1) + ((v + 3) >> 2));
	asm volatile("" : "+r"(left)); /* or the compiler makes a branch of what follows */
	return max - (left & ~(left >> 63));
}

#endif
