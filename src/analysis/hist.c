/* See hist.h. */
#include "analysis/hist.h"

#include <string.h>

#include "base/util.h"

void hist_add(struct hist *h, u64 value)
{
	h->slots[log2_slot(value, HIST_N - 1)]++;
}

void hist_merge32(struct hist *h, const u32 *slots, u32 n)
{
	for (u32 i = 0; i < n; i++)
		h->slots[MIN(i, HIST_N - 1U)] += slots[i];
}

u64 hist_count(const struct hist *h)
{
	u64 n = 0;

	for (u32 i = 0; i < HIST_N; i++)
		n += h->slots[i];
	return n;
}

u64 hist_quantile(const struct hist *h, double q, u64 max)
{
	double want = q * (double)hist_count(h), before = 0;
	u64 v = 0;

	for (u32 i = 0; i < HIST_N; i++) {
		double here = (double)h->slots[i], low = i ? (double)(1ULL << (i - 1)) : 0;

		if (!h->slots[i])
			continue;
		v = i ? (u64)(low + low * (want - before) / here) : 0;
		if (before + here >= want)
			break;
		before += here;
	}
	return max ? MIN(v, max) : v;
}

struct cell hist_to_cell(struct report *r, const struct hist *h)
{
	struct hist_cell *c = arena_alloc(&r->arena, sizeof(*c));

	_Static_assert(sizeof(*c) == sizeof(*h), "slots of histograms");
	if (!c)
		return (struct cell){};
	memcpy(c, h, sizeof(*c));
	return (struct cell){.type = CELL_HIST, .hist = c};
}
