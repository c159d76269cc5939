/*
 * Which allocations are recorded: all from a certain size on, or on average one per so many bytes,
 * at random, so that regular patterns are not missed (a Poisson process over bytes). The others are
 * not recorded, nor are their frees.
 */
#ifndef MEMWHY_TRACKER_SAMPLE_H
#define MEMWHY_TRACKER_SAMPLE_H

#include "tracker/thread.h"

extern OURS u64 least_bytes; /* smaller ones are not reported */
extern OURS u64 sample_mean; /* bytes; 0: all */

/*
 * How many reported blocks have this hash: 0 for most, which are then not looked up. A small table
 * stays in the nearest cache, and a larger one says no where the small one does not. Where all
 * blocks are reported there is only the first entry of the small one, which is never 0.
 */
#define SAMPLE_FEW_BITS 12
#define SAMPLE_SEEN_BITS 14
extern OURS u8 sample_few[1U << SAMPLE_FEW_BITS];
extern OURS u64 sample_few_mask;
extern OURS u8 sample_seen[1U << SAMPLE_SEEN_BITS];

/* This is what is asked for. */
void sample_begin(u64 mean, u64 least);

/* A point was passed: draws the next. */
void sample_draw(struct thread *t);
/* The block will be reported. 0: there is no room to remember it, so it will not. */
int sample_add(void *p);
/* Was the block reported? From now on it is not. */
int sample_take(void *p);

static inline u64 sample_hash(const void *p)
{
	return (u64)p * 0x9e3779b97f4a7c15ULL;
}

/*
 * Most allocations and frees are not reported, and these two know so before the thread is known to
 * have a ring: nothing more is done then. What they cannot decide, the next two do.
 */
static inline int sample_alloc_passes(u64 size)
{
	u64 bytes = size + !size;

	if (bytes >= thread.until_sample || unlikely(thread.epoch != self->epoch))
		return 0;
	thread.until_sample -= bytes;
	return 1;
}

static inline int sample_free_passes(const void *p)
{
	return !sample_few[sample_hash(p) >> (64 - SAMPLE_FEW_BITS) & sample_few_mask];
}

/* Is an allocation of this size to be reported? */
static inline int sample_alloc(struct thread *t, u64 size)
{
	u64 bytes = size + !size;

	if (likely(!sample_mean))
		return 1;
	if (bytes < t->until_sample) {
		t->until_sample -= bytes;
		return 0;
	}
	sample_draw(t);
	return 1;
}

static inline int sample_free(void *p)
{
	return likely(!sample_mean) ||
	       (sample_seen[sample_hash(p) >> (64 - SAMPLE_SEEN_BITS)] && sample_take(p));
}

#endif
