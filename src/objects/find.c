/* See objects.h: which object an address is in. */
#include "objects/objects.h"

#include <errno.h>

#include "objects/spaces.h"

static enum object_found kernel_find(struct objects *o, u32 *ret)
{
	struct object what = {
		.kind = OBJECT_KERNEL,
		.thread = OBJECT_NONE,
		.from = OBJECT_NONE,
		.start = KERNEL_ADDRESS,
		.bytes = 0, /* it has no size that means anything */
		.node = -1,
	};

	if (o->kernel == OBJECT_NONE)
		o->kernel = objects_add(o, &what);
	*ret = o->kernel;
	return OBJECT_FOUND;
}

/* The main thread's stack grows as it is touched, and nobody is told. */
static bool stack_grow(struct objects *o, struct space *s, u64 address, struct range *ret)
{
	const struct extra *e;
	struct range r;
	u64 down = address & ~4095ULL;
	u32 object;

	if (!ranges_next(&s->maps, address, &r) || o->slots.v[r.value].kind != OBJECT_STACK)
		return false;
	e = slot_extra(o, r.value);
	object = e && e->grows ? own_object(o, s, &r) : OBJECT_NONE;
	if (object == OBJECT_NONE || ranges_remove(&s->maps, r.start))
		return false;
	object_extend(o, object, r.start - down);
	o->slots.v[object].start = MIN(o->slots.v[object].start, down);
	*ret = (struct range){down, r.end, object};
	return !ranges_add(&s->maps, *ret);
}

static bool block_find(struct objects *o, const struct space *s, u64 address, struct range *ret)
{
	struct expected *e = &o->expected;

	if (e->space == s && e->changes == s->blocks.changes)
		for (u32 i = e->next; i < e->n; i++)
			if (e->addresses[i] == address) {
				e->next = i + 1;
				*ret = e->blocks[i];
				return ret->end;
			}
	return ranges_find(&s->blocks, address, ret);
}

int objects_find(
	struct objects *o, u32 tgid, u64 address, enum object_found *ret_found, u32 *ret_object)
{
	struct space *s;
	struct range r;
	u32 object = OBJECT_NONE;

	*ret_found = OBJECT_FOUND;
	if (address >= KERNEL_ADDRESS) {
		*ret_found = kernel_find(o, &object);
	} else {
		s = space_find(o, tgid);
		if (!s || (!s->known && !s->blocks.n))
			*ret_found = OBJECT_NO_MAPS;
		else if (block_find(o, s, address, &r) || ranges_find(&s->maps, address, &r) ||
			 stack_grow(o, s, address, &r))
			object = own_object(o, s, &r);
		else
			*ret_found = OBJECT_NOT_MAPPED;
	}
	if (*ret_found == OBJECT_FOUND) {
		if (object == OBJECT_NONE)
			return -ENOMEM;
		/* Most are: what is not written need not come into the cache first. */
		if (!o->slots.v[object].touched)
			o->slots.v[object].touched = true;
	}
	*ret_object = object;
	return 0;
}

void objects_expect(struct objects *o, u32 tgid, const u64 *addresses, u32 n)
{
	struct expected *e = &o->expected;
	const struct space *s = space_find(o, tgid);

	e->space = NULL;
	if (!s || !s->blocks.root)
		return;
	ranges_find_all(&s->blocks, addresses, n, e->blocks);
	for (u32 i = 0; i < n; i++) {
		e->addresses[i] = addresses[i];
		__builtin_prefetch(&o->slots.v[e->blocks[i].value]);
	}
	e->space = s;
	e->changes = s->blocks.changes;
	e->n = n;
	e->next = 0;
}
