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
		.bytes = KERNEL_ADDRESS - 1,
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
		else if (ranges_find(&s->blocks, address, &r) ||
			 ranges_find(&s->maps, address, &r) || stack_grow(o, s, address, &r))
			object = own_object(o, s, &r);
		else
			*ret_found = OBJECT_NOT_MAPPED;
	}
	if (*ret_found == OBJECT_FOUND) {
		if (object == OBJECT_NONE)
			return -ENOMEM;
		o->slots.v[object].touched = true;
	}
	*ret_object = object;
	return 0;
}

void objects_warm(struct objects *o, u32 tgid, const u64 *addresses, u32 n)
{
	const struct space *s = space_find(o, tgid);
	u32 values[OBJECTS_WARM];

	if (!s || !s->blocks.root)
		return;
	ranges_warm(&s->blocks, addresses, n, values);
	for (u32 i = 0; i < n; i++)
		__builtin_prefetch(&o->slots.v[values[i]], 1);
}
