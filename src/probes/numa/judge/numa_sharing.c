/* See numa_sharing.h. */
#include "probes/numa/judge/numa_sharing.h"

#include <errno.h>
#include <string.h>

#define NODE_BITS 6
#define PARTS_MAX 64    /* parts of an object that could lie on nodes of their own */
#define PART_SAMPLES 16 /* at least so many a part, on average */
#define PAGE 4096ULL

static const u32 unit_shift[NUMA_UNITS] = {
	[NUMA_UNIT_LINE] = 6,
	[NUMA_UNIT_PAGE] = 12,
	[NUMA_UNIT_HUGE] = 21,
	[NUMA_UNIT_OBJECT] = 57,
};

static int place_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* The accesses of the object whose node is known, in order of time: how often it changes. */
static int places_take(struct numa_feed *f, u32 object, struct numa_sharing_work *w)
{
	struct numa_flow flow = numa_flow_object(f, object);
	const struct numa_access *a;
	s8 last = -1, turn = -1;

	w->places.n = 0;
	while ((a = numa_flow_next(&flow))) {
		if (a->cpu_node < 0)
			continue;
		if (vec_push(&w->places, a->address << NODE_BITS | (u64)a->cpu_node))
			return -ENOMEM;
		w->from[a->cpu_node]++;
		w->pairs += last >= 0;
		w->switches += last >= 0 && last != a->cpu_node;
		if (last == a->cpu_node && turn != last) {
			w->turns += turn >= 0;
			turn = last;
		}
		last = a->cpu_node;
	}
	return 0;
}

static u32 numa_sharing_node_of(u64 place)
{
	return (u32)place & (NUMA_NODES - 1);
}

/* Places [from, to) are of one piece: adds the chance that two of them differ, for each. */
static void unit_add(struct numa_sharing_work *w, u32 unit, size_t from, size_t to)
{
	u64 n = to - from, same = 0;
	u32 counts[NUMA_NODES] = {};

	if (n < 2)
		return;
	for (size_t i = from; i < to; i++)
		same += 2ULL * counts[numa_sharing_node_of(w->places.v[i])]++;
	w->mixed[unit] += (1 - (double)same / ((double)n * (double)(n - 1))) * (double)n;
	w->samples[unit] += n;
}

static void units_add(struct numa_sharing_work *w)
{
	for (u32 unit = 0; unit < NUMA_UNITS; unit++) {
		u32 shift = unit_shift[unit] + NODE_BITS;
		size_t from = 0;

		for (size_t i = 1; i <= w->places.n; i++) {
			if (i < w->places.n && shift < 63 &&
				w->places.v[i] >> shift == w->places.v[from] >> shift)
				continue;
			if (i < w->places.n && shift >= 63)
				continue;
			unit_add(w, unit, from, i);
			from = i;
		}
	}
}

/*
 * Were this part on the node that uses it most, which accesses were remote? Of each access only the
 * others tell where the part would be: else few accesses would always seem to be local.
 */
static void numa_sharing_part_add(struct numa_sharing_work *w, size_t from, size_t to)
{
	u32 counts[NUMA_NODES] = {}, best = 0, second = 0;

	if (to - from < 2) {
		for (size_t i = from; i < to; i++)
			w->alone[numa_sharing_node_of(w->places.v[i])]++;
		return;
	}
	for (size_t i = from; i < to; i++)
		counts[numa_sharing_node_of(w->places.v[i])]++;
	for (u32 i = 1; i < NUMA_NODES; i++)
		best = counts[i] > counts[best] ? i : best;
	second = best ? 0 : 1;
	for (u32 i = 0; i < NUMA_NODES; i++)
		second = i != best && counts[i] > counts[second] ? i : second;
	w->placed_remote += to - from - counts[best];
	if (counts[best] - 1 < counts[second])
		w->placed_remote += counts[best];
}

/* Parts are of equal size, in whole pages. */
static void numa_sharing_parts_add(struct numa_sharing_work *w, const struct object *o)
{
	u64 parts = MIN(MAX(w->places.n / PART_SAMPLES, 1UL), (u64)PARTS_MAX);
	u64 bytes = MAX((o->bytes / parts + PAGE - 1) & ~(PAGE - 1), PAGE);
	size_t from = 0;

	for (size_t i = 1; i <= w->places.n; i++) {
		if (i < w->places.n && (w->places.v[i] >> NODE_BITS) / bytes ==
					       (w->places.v[from] >> NODE_BITS) / bytes)
			continue;
		numa_sharing_part_add(w, from, i);
		from = i;
	}
}

int numa_sharing_object(
	struct numa_feed *f, u32 object, const struct object *o, struct numa_sharing_work *w)
{
	int rc = places_take(f, object, w);

	if (rc || !w->places.n)
		return rc;
	qsort(w->places.v, w->places.n, sizeof(u64), place_compare);
	units_add(w);
	numa_sharing_parts_add(w, o);
	return 0;
}

void numa_sharing_finish(const struct numa_sharing_work *w, struct numa_group *g)
{
	u32 most = 0;

	for (u32 i = 1; i < NUMA_NODES; i++)
		most = w->from[i] > w->from[most] ? i : most;
	g->placed_remote = w->placed_remote;
	for (u32 i = 0; i < NUMA_NODES; i++)
		g->placed_remote += i == most ? 0 : w->alone[i];
	for (u32 u = 0; u < NUMA_UNITS; u++) {
		g->sharing[u].samples = w->samples[u];
		if (w->samples[u])
			g->sharing[u].mixed = w->mixed[u] / (double)w->samples[u];
	}
	g->switch_pairs = w->pairs;
	g->turns = w->turns;
	g->switches = w->pairs ? (double)w->switches / (double)w->pairs : 0;
}

void numa_sharing_free(struct numa_sharing_work *w)
{
	vec_free(&w->places);
}
