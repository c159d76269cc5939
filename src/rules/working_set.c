/* See working_set.h. */
#include "rules/working_set.h"

#include <errno.h>
#include <math.h>

#define BACK_LEAST 16 /* pages seen to come back */
#define MOST                                                                                \
	1000.0 /* times the look: what is out for longer is not told from what is read once \
		*/

void working_set_init(struct groups *sets)
{
	groups_init(sets, sizeof(u64), sizeof(struct working_set));
}

int working_set_feed(struct groups *sets, const struct cache_agg *r)
{
	struct working_set *w;

	if (r->flags & CACHE_WRITTEN && !(r->flags & CACHE_REFAULT))
		return 0;
	w = groups_get(sets, &r->cgroup);
	if (!w)
		return -ENOMEM;
	w->read += r->count;
	if (r->flags & CACHE_REFAULT && r->call != CACHE_CALL_DROP) {
		w->back += r->count;
		w->out_ns += r->total_ns;
	}
	return 0;
}

struct working_set working_set_of(const struct groups *sets, const struct report *r, u64 cgroup)
{
	struct working_set sum = {};

	for (size_t i = 0; i < sets->n; i++) {
		const struct working_set *w = groups_value(sets, i);

		if (!report_cgroup_within(r, *(const u64 *)groups_key(sets, i), cgroup))
			continue;
		sum.read += w->read;
		sum.back += w->back;
		sum.out_ns += w->out_ns;
	}
	return sum;
}

u64 working_set_out_least(const struct working_set *w, double pages_second, u64 page_bytes)
{
	if (w->back < BACK_LEAST)
		return 0;
	return (u64)(pages_second * (double)w->out_ns / (double)w->back / 1e9 * (double)page_bytes);
}

/*
 * Pages go all the time and come back after x looks on average, at random: within one look this
 * part of those that went in it is seen to come back. It falls as x grows.
 */
static double part_back(double x)
{
	return 1 - x * (1 - exp(-1 / x));
}

u64 working_set_out_most(const struct working_set *w, u64 page_bytes)
{
	double part = (double)w->back / (double)MAX(w->read, 1ULL), low = 0.01, high = MOST;

	if (w->back < BACK_LEAST)
		return 0;
	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (part_back(mid) > part)
			low = mid;
		else
			high = mid;
	}
	/* As many are out as are read a look, times how many looks they are out. */
	return (u64)((double)w->read * CACHE_STRIDE * low * (double)page_bytes);
}
