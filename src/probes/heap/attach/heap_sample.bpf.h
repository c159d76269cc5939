/*
 * Sampling by bytes (config.sample_bytes): points along all the bytes that a thread asks for, at
 * distances drawn from the exponential distribution. A block that has one is seen, which happens
 * with probability 1 - exp(-size / sample_bytes), and stands for the reciprocal of that many. Both
 * functions are tables that user space fills in.
 */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_SAMPLE_BPF_H
#define MEMWHY_PROBES_HEAP_ATTACH_SAMPLE_BPF_H

#include "probes/heap/attach/heap_maps.bpf.h"

/* The distance to the next point: config.gaps has the quantiles, between which it is linear; beyond
 * the last one it is drawn once more, as it has no memory. */
static __always_inline u64 sample_gap(void)
{
	u64 sum = 0;

	for (int i = 0; i < 4; i++) {
		u32 r = bpf_get_prandom_u32(), at = r >> 22;
		u64 low = config.gaps[at & (HEAP_GAPS - 1)], high;

		sum += low;
		if (at < HEAP_GAPS - 1) {
			high = config.gaps[(at + 1) & (HEAP_GAPS - 1)];
			sum += (high - low) * (r & 0x3fffff) >> 22;
			break;
		}
	}
	return (sum * config.sample_bytes >> HEAP_GAP_SHIFT) + 1;
}

/* How many blocks this one stands for: config.weights has x / (1 - exp(-x)). Rounded up or down at
 * random, so that sums are right on average. */
static __always_inline u32 sample_reciprocal(u64 size)
{
	u64 x = size * (HEAP_WEIGHT_STEPS * 256) / config.sample_bytes, at = x >> 8, w, bytes;

	if (at >= HEAP_WEIGHTS)
		return 1;
	w = config.weights[at & (HEAP_WEIGHTS - 1)];
	w += (config.weights[(at & (HEAP_WEIGHTS - 1)) + 1] - w) * (x & 255) >> 8;
	bytes = config.sample_bytes * w >> HEAP_WEIGHT_SHIFT;
	return bytes / size + (bpf_get_prandom_u32() % size < bytes % size);
}

/* 0: it is not seen. */
static __always_inline u32 sample_weight(struct heap_thread_now *t, u64 size)
{
	size += !size;
	t->until_sample -= size;
	if (t->until_sample > 0)
		return 0;
	t->until_sample = sample_gap();
	return sample_reciprocal(size);
}

#endif
