/* See spaces.h and objects.h: what is where in the address spaces, as it changes. */
#include "objects/spaces.h"

#include <errno.h>
#include <string.h>

void space_free(struct space *s)
{
	if (!s)
		return;
	ranges_free(&s->maps);
	ranges_free(&s->blocks);
	free(s);
}

struct space *space_find(struct objects *o, u32 tgid)
{
	struct space **at;

	if (o->last && o->last->tgid == tgid)
		return o->last;
	at = groups_find(&o->spaces, &tgid);
	if (at && *at)
		o->last = *at;
	return at ? *at : NULL;
}

struct space *space_get(struct objects *o, u32 tgid)
{
	struct space *s = space_find(o, tgid), **at;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	at = s ? groups_get(&o->spaces, &tgid) : NULL;
	if (!at) {
		free(s);
		return NULL;
	}
	s->tgid = tgid;
	*at = s;
	return s;
}

/* The range is this other object's. */
static int range_set(struct ranges *t, const struct range *r, u32 object)
{
	int rc = ranges_remove(t, r->start);

	return rc ? rc : ranges_add(t, (struct range){r->start, r->end, object});
}

/* All pieces of a parent's mapping, which may lie anywhere by now. */
static int pieces_set(struct space *s, u32 old, u32 object, u64 *ret_bytes)
{
	struct range r;
	int rc = 0;

	*ret_bytes = 0;
	for (u64 at = 0; !rc && ranges_next(&s->maps, at, &r); at = r.end)
		if (r.value == old) {
			rc = range_set(&s->maps, &r, object);
			*ret_bytes += r.end - r.start;
		}
	return rc;
}

u32 own_object(struct objects *o, struct space *s, const struct range *r)
{
	u32 old = r->value, made;
	struct object what;
	u64 bytes;

	if (o->slots.v[old].tgid == s->tgid || !objects_get(o, old, &what))
		return old;
	what.tgid = s->tgid;
	what.from = old;
	what.end_ns = 0;
	made = objects_add(o, &what);
	if (made == OBJECT_NONE)
		return OBJECT_NONE;
	if (what.kind == OBJECT_BLOCK)
		return range_set(&s->blocks, r, made) ? OBJECT_NONE : made;
	if (pieces_set(s, old, made, &bytes))
		return OBJECT_NONE;
	slot_extra(o, made)->live = bytes;
	return made;
}

/* The space's own object, if it has one by now. */
static u32 object_if_own(struct objects *o, const struct space *s, u32 object)
{
	return o->slots.v[object].tgid == s->tgid ? object : OBJECT_NONE;
}

static void map_shrink(
	struct objects *o, const struct space *s, const struct object_by *by, u32 value, u64 bytes)
{
	u32 object = object_if_own(o, s, value);
	struct extra *e = object == OBJECT_NONE ? NULL : slot_extra(o, object);

	if (!e || !e->live)
		return;
	e->live -= MIN(e->live, bytes);
	if (!e->live)
		slot_end(o, object, by, true);
}

/* Takes [start, end) out of the mappings. */
static int maps_cut(
	struct objects *o, struct space *s, const struct object_by *by, u64 start, u64 end)
{
	struct range r;

	while (ranges_next(&s->maps, start, &r) && r.start < end) {
		u64 from = MAX(r.start, start), to = MIN(r.end, end);
		int rc = ranges_remove(&s->maps, r.start);

		if (!rc && r.start < from)
			rc = ranges_add(&s->maps, (struct range){r.start, from, r.value});
		if (!rc && r.end > to)
			rc = ranges_add(&s->maps, (struct range){to, r.end, r.value});
		if (rc)
			return rc;
		map_shrink(o, s, by, r.value, to - from);
	}
	return 0;
}

static int block_end(struct objects *o, struct space *s, const struct object_by *by,
	const struct range *r, bool freed)
{
	int rc = ranges_remove(&s->blocks, r->start);
	u32 object = object_if_own(o, s, r->value);

	if (!rc && object != OBJECT_NONE)
		slot_end(o, object, by, freed);
	return rc;
}

static int blocks_cut(
	struct objects *o, struct space *s, const struct object_by *by, u64 start, u64 end)
{
	struct range r;

	while (ranges_next(&s->blocks, start, &r) && r.start < end) {
		int rc = block_end(o, s, by, &r, false);

		if (rc)
			return rc;
	}
	return 0;
}

int space_cut(struct objects *o, struct space *s, const struct object_by *by, u64 start, u64 end)
{
	int rc = blocks_cut(o, s, by, start, end);

	return rc ? rc : maps_cut(o, s, by, start, end);
}

void object_extend(struct objects *o, u32 object, u64 bytes)
{
	struct slot *slot = &o->slots.v[object];
	struct extra *e = slot_extra(o, object);

	if (e)
		e->live += bytes;
	slot->bytes = MAX(slot->bytes, e ? e->live : bytes);
}

static u32 map_object(struct objects *o, const struct object_by *by, const struct object *what)
{
	struct object made = *what;

	made.tgid = by->tgid;
	made.thread = what->kind == OBJECT_STACK ? what->thread : by->thread;
	made.begin_ns = by->time_ns;
	made.end_ns = 0;
	made.node = by->node;
	made.from = OBJECT_NONE;
	return objects_add(o, &made);
}

/* The brk area that this one continues, or is. */
static bool heap_there(
	struct objects *o, struct space *s, const struct object *what, struct range *ret)
{
	return what->kind == OBJECT_HEAP && what->start &&
	       (ranges_find(&s->maps, what->start, ret) ||
		       ranges_find(&s->maps, what->start - 1, ret)) &&
	       o->slots.v[ret->value].kind == OBJECT_HEAP;
}

/* What of [start, end) is not mapped becomes part of an object. */
static int gaps_add(struct objects *o, struct space *s, u32 object, u64 start, u64 end)
{
	struct range r;
	int rc = 0;

	for (u64 at = start; !rc && at < end;) {
		bool any = ranges_next(&s->maps, at, &r) && r.start < end;
		u64 to = any ? MAX(r.start, at) : end;

		if (to > at) {
			rc = ranges_add(&s->maps, (struct range){at, to, object});
			object_extend(o, object, to - at);
		}
		at = any ? r.end : end;
	}
	return rc;
}

int objects_map(struct objects *o, const struct object_by *by, const struct object *what)
{
	struct space *s = space_get(o, by->tgid);
	u64 end = what->start + what->bytes;
	struct range r;
	u32 object;
	int rc;

	if (!s)
		return -ENOMEM;
	if (!range_good(what->start, what->bytes))
		return 0;
	s->known = true;
	if (heap_there(o, s, what, &r)) {
		object = own_object(o, s, &r);
		return object == OBJECT_NONE ? -ENOMEM : gaps_add(o, s, object, what->start, end);
	}
	rc = space_cut(o, s, by, what->start, end);
	if (rc)
		return rc;
	object = map_object(o, by, what);
	if (object == OBJECT_NONE)
		return -ENOMEM;
	return ranges_add(&s->maps, (struct range){what->start, end, object});
}

/* Is it the mapping that was there, merged with a neighbour, cut, or with other rights? */
static bool same_mapping(struct objects *o, const struct space *s, const struct object *what)
{
	u64 end = what->start + what->bytes;
	const struct extra *e;
	struct range r;

	if (!ranges_next(&s->maps, what->start, &r) || r.start >= end ||
		o->slots.v[r.value].kind != what->kind)
		return false;
	e = slot_extra(o, r.value);
	if (!e || e->file != what->file)
		return false;
	return r.start != what->start || r.end != end || e->prot != what->prot;
}

int objects_now(struct objects *o, const struct object_by *by, const struct object *what)
{
	struct space *s = space_get(o, by->tgid);

	if (!s)
		return -ENOMEM;
	if (!range_good(what->start, what->bytes))
		return 0;
	return same_mapping(o, s, what) ? objects_held(o, by, what) : objects_map(o, by, what);
}

/* The gaps between what is known already. */
int objects_held(struct objects *o, const struct object_by *by, const struct object *what)
{
	struct space *s = space_get(o, by->tgid);
	u64 at = what->start, end = what->start + what->bytes;
	struct object gap = *what;
	struct range r;
	int rc = 0;

	if (!s)
		return -ENOMEM;
	if (!range_good(what->start, what->bytes))
		return 0;
	s->known = true;
	while (!rc && at < end) {
		bool any = ranges_next(&s->maps, at, &r) && r.start < end;

		gap.start = at;
		gap.bytes = (any ? MAX(r.start, at) : end) - at;
		gap.offset = what->offset + (at - what->start);
		if (gap.bytes)
			rc = objects_map(o, by, &gap);
		at = any ? r.end : end;
	}
	return rc;
}

int objects_unmap(struct objects *o, const struct object_by *by, u64 start, u64 bytes)
{
	struct space *s = space_find(o, by->tgid);

	if (!s || !range_good(start, bytes))
		return 0;
	return space_cut(o, s, by, start, start + bytes);
}

int objects_alloc(struct objects *o, const struct object_by *by, const struct object *what)
{
	struct space *s = space_get(o, by->tgid);
	struct object made = *what;
	u32 object;
	int rc;

	if (!s)
		return -ENOMEM;
	if (!range_good(what->start, what->bytes))
		return 0;
	rc = blocks_cut(o, s, by, what->start, what->start + what->bytes);
	if (rc)
		return rc;
	made.kind = OBJECT_BLOCK;
	made.tgid = by->tgid;
	made.thread = by->thread;
	made.begin_ns = by->time_ns;
	made.end_ns = 0;
	made.node = by->node;
	made.from = OBJECT_NONE;
	object = objects_add(o, &made);
	if (object == OBJECT_NONE)
		return -ENOMEM;
	return ranges_add(
		&s->blocks, (struct range){what->start, what->start + what->bytes, object});
}

int objects_free_block(struct objects *o, const struct object_by *by, u64 address)
{
	struct space *s = space_find(o, by->tgid);
	struct range r;

	if (!s || !ranges_find(&s->blocks, address, &r) || r.start != address)
		return 0;
	return block_end(o, s, by, &r, true);
}

int objects_realloc(
	struct objects *o, const struct object_by *by, u64 old, const struct object *what)
{
	struct space *s = space_get(o, by->tgid);
	u64 end = what->start + what->bytes;
	struct range r;
	u32 object;
	int rc = 0;

	if (!s)
		return -ENOMEM;
	if (!range_good(what->start, what->bytes))
		return 0;
	if (old != what->start)
		rc = objects_free_block(o, by, old);
	if (rc || !ranges_find(&s->blocks, what->start, &r) || r.start != what->start)
		return rc ? rc : objects_alloc(o, by, what);
	object = own_object(o, s, &r);
	if (object == OBJECT_NONE)
		return -ENOMEM;
	rc = ranges_remove(&s->blocks, r.start);
	rc = rc ? rc : blocks_cut(o, s, by, what->start, end);
	rc = rc ? rc : ranges_add(&s->blocks, (struct range){what->start, end, object});
	if (!rc)
		o->slots.v[object].bytes = MAX(o->slots.v[object].bytes, what->bytes);
	return rc;
}

static void all_end(struct objects *o, const struct space *s, const struct ranges *t,
	const struct object_by *by)
{
	struct range r;

	for (u64 at = 0; ranges_next(t, at, &r); at = r.end) {
		u32 object = object_if_own(o, s, r.value);

		/* A mapping may be in several pieces. */
		if (object != OBJECT_NONE && o->slots.v[object].kind && !o->slots.v[object].end_ns)
			slot_end(o, object, by, false);
	}
}

int objects_drop(struct objects *o, const struct object_by *by)
{
	struct space *s = space_find(o, by->tgid), **at;

	if (!s)
		return 0;
	all_end(o, s, &s->blocks, by);
	all_end(o, s, &s->maps, by);
	at = groups_find(&o->spaces, &by->tgid);
	if (at)
		*at = NULL;
	o->last = NULL;
	o->expected.space = NULL;
	space_free(s);
	return 0;
}

int objects_fork(struct objects *o, const struct object_by *by, u32 parent)
{
	struct space *from, *to;
	int rc = objects_drop(o, by);

	if (rc || parent == by->tgid)
		return rc;
	to = space_get(o, by->tgid);
	from = space_find(o, parent);
	if (!to)
		return -ENOMEM;
	if (!from)
		return 0;
	to->known = from->known;
	ranges_copy(&from->maps, &to->maps);
	ranges_copy(&from->blocks, &to->blocks);
	o->fork_births = o->births;
	return 0;
}
