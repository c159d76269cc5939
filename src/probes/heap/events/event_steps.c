/* See event_steps.h. */
#include "probes/heap/events/event_steps.h"

#include <stdlib.h>

/* What two points become that are of one step, each of which may be missing. second: the most of
 * all stacks was in the time of the second one. Where a stack has no point in that time, it had
 * throughout what it had at its beginning. */
static struct event_point joined(const struct event_point *before, const struct event_point *first,
	const struct event_point *second, bool in_second)
{
	static const struct event_point none;
	const struct event_point *last = second ? second : first;
	const struct event_point *at = in_second ? second : first;
	struct event_point p = *last;

	if (at) {
		p.peak_blocks = at->peak_blocks;
		p.peak_bytes = at->peak_bytes;
	} else {
		at = in_second ? first : before ? before : &none;
		p.peak_blocks = at->live_blocks;
		p.peak_bytes = at->live_bytes;
	}
	return p;
}

/* The last point, if it is of this step, and the one before it. */
static struct event_point *event_steps_last_of(
	const event_points *v, u32 step, const struct event_point **ret_before)
{
	struct event_point *last = v->n ? &v->v[v->n - 1] : NULL;

	if (!last || last->step != step) {
		*ret_before = last;
		return NULL;
	}
	*ret_before = v->n > 1 ? last - 1 : NULL;
	return last;
}

/* p: NULL: nothing changed. again: the step has points of its first half already. */
static int point_put(
	event_points *v, u32 step, const struct event_point *p, bool again, bool in_second)
{
	const struct event_point *before;
	struct event_point *last = event_steps_last_of(v, step, &before), j;

	if (!again)
		return p ? vec_push(v, *p) : 0;
	if (!last && !p)
		return 0;
	j = joined(before, last, p, in_second);
	if (!last)
		return vec_push(v, j);
	*last = j;
	return 0;
}

static int sites_fit(struct event_steps *s, size_t n)
{
	const __typeof__(*s->sites.v) none = {};
	int rc = 0;

	while (s->sites.n < n && !rc)
		rc = vec_push(&s->sites, none);
	return rc;
}

static int site_close(
	struct event_steps *s, struct account *a, size_t i, bool again, bool in_second)
{
	struct account_site *site = &a->sites.v[i];
	struct event_point p = {.step = s->step};

	if (!site->changed)
		return point_put(&s->sites.v[i], s->step, NULL, again, in_second);
	account_settle(a, site);
	site->changed = false;
	p.live_blocks = site->live_blocks;
	p.live_bytes = site->live_bytes;
	p.peak_blocks = site->peak_blocks;
	p.peak_bytes = site->peak_bytes;
	p.allocations = site->allocations;
	p.bytes = site->bytes;
	return point_put(&s->sites.v[i], s->step, &p, again, in_second);
}

static u64 points_of(const struct event_steps *s)
{
	u64 n = s->whole.n;

	vec_each (v, &s->sites)
		n += v->n;
	return n;
}

int event_steps_close(struct event_steps *s, struct account *a, u64 *ret_points)
{
	const struct event_point all = {s->step, a->live_blocks, a->live_bytes, a->peak_blocks,
		a->peak_bytes, a->allocations, a->bytes};
	const struct event_point *before, *last = event_steps_last_of(&s->whole, s->step, &before);
	bool again = last, in_second = last && all.peak_bytes > last->peak_bytes;
	u64 had = points_of(s);
	int rc = sites_fit(s, a->sites.n);

	for (size_t i = 0; i < a->sites.n && !rc; i++)
		rc = site_close(s, a, i, again, in_second);
	rc = rc ? rc : point_put(&s->whole, s->step, &all, again, in_second);
	a->high_bytes = a->peak_bytes = a->live_bytes;
	a->peak_blocks = a->live_blocks;
	a->peak++;
	*ret_points = points_of(s) - had;
	return rc;
}

/* seconds: for each step that is made of two, whether the most was in the second: of all stacks. */
static void points_halve(event_points *v, const event_points *whole)
{
	size_t kept = 0, w = 0;

	for (size_t i = 0; i < v->n;) {
		u32 step = v->v[i].step / 2;
		const struct event_point *first = v->v[i].step % 2 ? NULL : &v->v[i],
					 *second = NULL;
		const struct event_point *of_first = NULL, *of_second = NULL;
		struct event_point p;

		i += !!first;
		if (i < v->n && v->v[i].step == 2 * step + 1)
			second = &v->v[i++];
		while (w < whole->n && whole->v[w].step < 2 * step)
			w++;
		for (; w < whole->n && whole->v[w].step / 2 == step; w++)
			*(whole->v[w].step % 2 ? &of_second : &of_first) = &whole->v[w];
		p = joined(kept ? &v->v[kept - 1] : NULL, first, second,
			of_second && (!of_first || of_second->peak_bytes > of_first->peak_bytes));
		p.step = step;
		v->v[kept++] = p;
	}
	v->n = kept;
}

void event_steps_halve(struct event_steps *s, u64 *ret_points)
{
	event_points whole = {};

	vec_each (v, &s->sites)
		points_halve(v, &s->whole);
	/* It is what it is held against, so it stays as it was until it is done. */
	if (!vec_reserve(&whole, s->whole.n + 1)) {
		for (size_t i = 0; i < s->whole.n; i++)
			whole.v[whole.n++] = s->whole.v[i];
		points_halve(&s->whole, &whole);
	}
	vec_free(&whole);
	s->step /= 2;
	*ret_points = points_of(s);
}

void event_steps_free(struct event_steps *s)
{
	vec_each (v, &s->sites)
		vec_free(v);
	vec_free(&s->sites);
	vec_free(&s->whole);
}
