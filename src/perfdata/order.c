/*
 * See order.h. What comes in is a sequence of runs that are in order, one for each CPU and round,
 * so it is sorted by merging the runs that are there.
 */
#include "perfdata/order.h"

#include <errno.h>
#include <string.h>

int order_put(struct order *o, const struct entry *e)
{
	int rc = vec_push(&o->list, *e);

	if (!rc)
		o->newest = MAX(o->newest, e->time);
	return rc;
}

/* One more than the last of the run that begins at i. */
static size_t run_end(const struct entry *v, size_t i, size_t n)
{
	for (i++; i < n && v[i].time >= v[i - 1].time; i++)
		;
	return MIN(i, n);
}

/* Of equal times the one of the first run comes first. */
static void runs_merge(struct entry *to, const struct entry *a, const struct entry *a_end,
	const struct entry *b, const struct entry *b_end)
{
	while (a < a_end && b < b_end)
		*to++ = b->time < a->time ? *b++ : *a++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
	to += a_end - a;
	memcpy(to, b, (size_t)(b_end - b) * sizeof(*b));
}

/* Merges neighbouring runs into `to`: how many runs there are then, at most. */
static size_t runs_pass(struct entry *to, const struct entry *from, size_t n)
{
	size_t runs = 0;

	for (size_t i = 0; i < n;) {
		size_t mid = run_end(from, i, n);
		size_t end = mid < n ? run_end(from, mid, n) : n;

		runs_merge(to + i, from + i, from + mid, from + mid, from + end);
		runs++;
		i = end;
	}
	return runs;
}

static int spare_fit(struct order *o, size_t n)
{
	struct entry *v;

	if (n <= o->spare_cap)
		return 0;
	v = reallocarray(o->spare, o->list.cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	o->spare = v;
	o->spare_cap = o->list.cap;
	return 0;
}

static int order_sort(struct order *o)
{
	size_t n = order_waiting(o);
	struct entry *from = n ? o->list.v + o->head : NULL, *to;
	int rc;

	if (!n || run_end(from, 0, n) == n)
		return 0;
	rc = spare_fit(o, n);
	if (rc)
		return rc;
	to = o->spare;
	while (runs_pass(to, from, n) > 1) {
		struct entry *t = to;

		to = from;
		from = t;
	}
	if (to == o->spare)
		memcpy(o->list.v + o->head, to, n * sizeof(*to));
	return 0;
}

/* One more than the last that is not newer than `limit`. */
static size_t order_until(const struct order *o, u64 limit)
{
	size_t lo = o->head, hi = o->list.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (o->list.v[mid].time <= limit)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int order_round(struct order *o)
{
	int rc = order_sort(o);

	if (rc)
		return rc;
	o->ready = order_until(o, o->limit);
	o->limit = o->newest;
	return 0;
}

int order_all(struct order *o)
{
	int rc = order_sort(o);

	if (!rc)
		o->ready = o->list.n;
	return rc;
}

int order_half(struct order *o)
{
	int rc = order_sort(o);

	if (!rc)
		o->ready = o->head + (order_waiting(o) + 1) / 2;
	return rc;
}

bool order_take(struct order *o, struct entry *ret)
{
	if (o->head >= o->ready) {
		if (o->head) {
			memmove(o->list.v, o->list.v + o->head,
				order_waiting(o) * sizeof(o->list.v[0]));
			o->list.n -= o->head;
			o->head = o->ready = 0;
		}
		return false;
	}
	*ret = o->list.v[o->head++];
	return true;
}

size_t order_bytes(const struct order *o)
{
	return (o->list.cap + o->spare_cap) * sizeof(struct entry);
}

void order_free(struct order *o, struct chunks *chunks)
{
	for (size_t i = o->head; i < o->list.n; i++)
		chunk_drop(chunks, o->list.v[i].chunk);
	vec_free(&o->list);
	free(o->spare);
}
