/* See sample.h. Blocks that are told of are in a table of eight to a cache line. */
#include "tracker/sample.h"

#include "tracker/forbid.h"

#define LINES 8192
#define LINE 8
#define TRIED (4 * LINE) /* places */
#define FULL 255         /* a count that stays */

u64 least_bytes;
u64 sample_mean;
u8 sample_few[1U << SAMPLE_FEW_BITS];
u64 sample_few_mask;
u8 sample_seen[1U << SAMPLE_SEEN_BITS];

static u64 sampled[LINES * LINE] __attribute__((aligned(64)));

void sample_begin(u64 mean, u64 least)
{
	least_bytes = least;
	sample_mean = mean;
	sample_few[0] = mean ? 0 : FULL;
	sample_few_mask = mean ? sizeof(sample_few) - 1 : 0;
}

static u64 *tracker_sample_place_of(u64 hash, u32 i)
{
	return &sampled[((hash >> 32) % LINES * LINE + i) % (LINES * LINE)];
}

static u64 random_next(struct thread *t)
{
	u64 x = t->random;

	if (!x) {
		u64 seed = clock_forbidden ? (u64)&x : __builtin_ia32_rdtsc();

		x = (seed * 0x9e3779b97f4a7c15ULL ^ (u64)t) | 1;
	}
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	t->random = x;
	return x;
}

/* -ln of a number between 0 and 1 with these 64 bits behind the point: by its highest bit, and of
 * what is below by the series of the area tangent, which is right to 1e-6 from 1 to 2. */
static double minus_log(u64 bits)
{
	const double ln2 = 0.6931471805599453;
	u32 zeros = (u32)__builtin_clzll(bits | 1);
	double m = 1 + (double)(bits << zeros << 1 >> 12) / 4503599627370496.0;
	double z = (m - 1) / (m + 1), z2 = z * z;
	double series = 1 + z2 * (1.0 / 3 + z2 * (1.0 / 5 + z2 * (1.0 / 7 + z2 * (1.0 / 9))));

	return ln2 * (zeros + 1) - 2 * z * series;
}

/* The distance to the next point has no memory, so it begins anew, however far this one went. */
void sample_draw(struct thread *t)
{
	t->until_sample = (u64)(minus_log(random_next(t)) * (double)sample_mean) + 1;
}

static void place_count(u8 *place, int by)
{
	u8 old = *place;

	while (old != FULL && !__atomic_compare_exchange_n(place, &old, (u8)(old + by), 0,
				      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

static void seen_count(u64 hash, int by)
{
	place_count(&sample_few[hash >> (64 - SAMPLE_FEW_BITS)], by);
	place_count(&sample_seen[hash >> (64 - SAMPLE_SEEN_BITS)], by);
}

/* Puts `to` where `from` is. */
static int place_change(u64 hash, u64 from, u64 to)
{
	for (u32 i = 0; i < TRIED; i++) {
		u64 *place = tracker_sample_place_of(hash, i), was = from;

		if (*place == from && __atomic_compare_exchange_n(place, &was, to, 0,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return 1;
	}
	return 0;
}

int sample_add(void *p)
{
	u64 hash = sample_hash(p);

	if (!place_change(hash, 0, (u64)p))
		return 0;
	seen_count(hash, 1);
	return 1;
}

int sample_take(void *p)
{
	u64 hash = sample_hash(p);

	if (!place_change(hash, (u64)p, 0))
		return 0;
	seen_count(hash, -1);
	return 1;
}
