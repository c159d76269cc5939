/* See objects.h: the objects by number. What is where is in spaces.c. */
#include "objects/objects.h"

#include <errno.h>
#include <string.h>

#include "objects/spaces.h"

int objects_new(struct objects **ret)
{
	struct objects *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	groups_init(&o->spaces, sizeof(u32), sizeof(struct space *));
	o->spare = OBJECT_NONE;
	o->kernel = OBJECT_NONE;
	*ret = o;
	return 0;
}

void objects_free(struct objects *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->spaces.n; i++)
		space_free(*(struct space **)groups_value(&o->spaces, i));
	groups_free(&o->spaces);
	big_free(&o->slots);
	vec_free(&o->extras);
	free(o);
}

/* A mapping's, a variable's or a copy's: blocks, which are many, have none. */
static u32 extra_add(struct objects *o, const struct object *what)
{
	struct extra e = {
		.live = what->bytes,
		.offset = what->offset,
		.name = what->name,
		.file = what->file,
		.from = what->from,
		.prot = what->prot,
		.shared = what->shared,
		.section = what->section,
		.grows = what->grows,
	};

	if (o->spare_extra) {
		u32 i = o->spare_extra;

		o->spare_extra = o->extras.v[i - 1].from;
		o->extras.v[i - 1] = e;
		return i;
	}
	return vec_push(&o->extras, e) ? 0 : (u32)o->extras.n;
}

struct extra *slot_extra(struct objects *o, u32 object)
{
	u32 i = o->slots.v[object].extra;

	return i ? &o->extras.v[i - 1] : NULL;
}

static s8 node_small(s16 node)
{
	return node >= 0 && node <= 127 ? (s8)node : -1;
}

u32 objects_add(struct objects *o, const struct object *what)
{
	struct slot s = {
		.start = what->start,
		.bytes = what->bytes,
		.begin_ns = what->begin_ns,
		.end_ns = what->end_ns,
		.tgid = what->tgid,
		.thread = what->thread,
		.freer = OBJECT_NONE,
		.stack = what->stack,
		.seq = o->births++,
		.node = node_small(what->node),
		.free_node = -1,
		.kind = what->kind,
	};
	u32 i = o->spare;

	if (what->kind != OBJECT_BLOCK || what->from != OBJECT_NONE) {
		s.extra = extra_add(o, what);
		if (!s.extra)
			return OBJECT_NONE;
	}
	if (i != OBJECT_NONE) {
		o->spare = o->slots.v[i].freer;
		o->slots.v[i] = s;
	} else {
		i = (u32)o->slots.n;
		if (i == OBJECT_NONE || big_push(&o->slots, s))
			return OBJECT_NONE;
	}
	return i;
}

/* A dead object that was never found, and is in no fork's memory, makes room. */
void slot_end(struct objects *o, u32 object, const struct object_by *by, bool freed)
{
	struct slot *s = &o->slots.v[object];

	if (!s->touched && s->seq >= o->fork_births) {
		if (s->extra) {
			o->extras.v[s->extra - 1].from = o->spare_extra;
			o->spare_extra = s->extra;
		}
		*s = (struct slot){.freer = o->spare};
		o->spare = object;
		return;
	}
	s->end_ns = by->time_ns ? by->time_ns : 1;
	if (freed) {
		s->freer = by->thread;
		s->free_node = node_small(by->node);
	}
}

u32 objects_count(const struct objects *o)
{
	return (u32)o->slots.n;
}

bool objects_get(const struct objects *o, u32 object, struct object *ret)
{
	const struct slot *s = object < o->slots.n ? &o->slots.v[object] : NULL;
	const struct extra *e;

	if (!s || !s->kind)
		return false;
	*ret = (struct object){
		.start = s->start,
		.bytes = s->bytes,
		.begin_ns = s->begin_ns,
		.end_ns = s->end_ns,
		.tgid = s->tgid,
		.thread = s->thread,
		.freer = s->freer,
		.stack = s->stack,
		.from = OBJECT_NONE,
		.node = s->node,
		.free_node = s->free_node,
		.kind = s->kind,
	};
	if (!s->extra)
		return true;
	e = &o->extras.v[s->extra - 1];
	ret->offset = e->offset;
	ret->name = e->name;
	ret->file = e->file;
	ret->from = e->from;
	ret->prot = e->prot;
	ret->shared = e->shared;
	ret->section = e->section;
	ret->grows = e->grows;
	return true;
}

void objects_stack_of(struct objects *o, u32 object, u32 thread)
{
	struct slot *s = &o->slots.v[object];

	if (s->kind == OBJECT_ANON)
		s->kind = OBJECT_STACK;
	if (s->kind == OBJECT_STACK)
		s->thread = thread;
}
