/* See owners.h. */
#include "probes/heap/account/owners.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST 256

/* Where it is, or would be put. */
static u32 *owners_place_of(const struct owners *o, u32 site, u32 thread)
{
	u64 hash = ((u64)thread << 32 | site) * 0x9e3779b97f4a7c15ULL >> 32;

	for (;; hash++) {
		u32 *at = &o->of[hash & (o->n_of - 1)];
		const struct owner *w = *at ? &o->all.v[*at - 1] : NULL;

		if (!w || (w->site == site && w->thread == thread))
			return at;
	}
}

static int grow(struct owners *o)
{
	u32 n = o->n_of ? 2 * o->n_of : FIRST;
	u32 *of = calloc(n, sizeof(*of));

	if (!of)
		return -ENOMEM;
	free(o->of);
	o->of = of;
	o->n_of = n;
	for (u32 i = 0; i < o->all.n; i++)
		*owners_place_of(o, o->all.v[i].site, o->all.v[i].thread) = i + 1;
	return 0;
}

int owners_get(struct owners *o, u32 site, u32 thread, u32 *ret)
{
	struct owner w = {site, thread};
	u32 *at;

	if (o->all.n >= o->n_of / 2 && grow(o))
		return -ENOMEM;
	at = owners_place_of(o, site, thread);
	if (!*at) {
		if (o->all.n >> OWNERS_BITS)
			return -ENOSPC;
		if (vec_push(&o->all, w))
			return -ENOMEM;
		*at = (u32)o->all.n;
	}
	*ret = *at - 1;
	return 0;
}

void owners_free(struct owners *o)
{
	vec_free(&o->all);
	free(o->of);
	*o = (struct owners){};
}
