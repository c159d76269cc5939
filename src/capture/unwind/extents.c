/* See extents.h. */
#include "capture/unwind/extents.h"

#include <string.h>

static void extent_remove(struct extents *e, size_t i)
{
	e->free.n--;
	memmove(e->free.v + i, e->free.v + i + 1, (e->free.n - i) * sizeof(*e->free.v));
}

int extents_take(struct extents *e, u32 n, u32 *ret_start)
{
	for (size_t i = 0; i < e->free.n; i++) {
		struct extent *x = &e->free.v[i];

		if (x->n < n)
			continue;
		*ret_start = x->start;
		x->start += n;
		x->n -= n;
		if (!x->n)
			extent_remove(e, i);
		return 0;
	}
	return -ENOSPC;
}

void extents_give(struct extents *e, u32 start, u32 n)
{
	size_t i = 0;

	if (!n)
		return;
	while (i < e->free.n && e->free.v[i].start < start)
		i++;
	if (i && e->free.v[i - 1].start + e->free.v[i - 1].n == start) {
		e->free.v[--i].n += n;
	} else {
		if (vec_push(&e->free, ((struct extent){})))
			return;
		memmove(e->free.v + i + 1, e->free.v + i, (e->free.n - 1 - i) * sizeof(*e->free.v));
		e->free.v[i] = (struct extent){start, n};
	}
	if (i + 1 < e->free.n && start + n == e->free.v[i + 1].start) {
		e->free.v[i].n += e->free.v[i + 1].n;
		extent_remove(e, i + 1);
	}
}

void extents_free(struct extents *e)
{
	vec_free(&e->free);
}
