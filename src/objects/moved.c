/* See objects.h: mremap, and a mapping at a second place. */
#include <errno.h>

#include "objects/spaces.h"

struct moved_range {
	struct range r;
	bool block;
};

struct moved {
	VEC(struct moved_range) list;
};

/* Takes the pieces within [start, end) out, without ending their objects. */
static int pieces_take(struct objects *o, struct space *s, struct ranges *t, bool block, u64 start,
	u64 end, struct moved *m)
{
	struct range r;
	int rc = 0;

	while (!rc && ranges_next(t, start, &r) && r.start < end) {
		struct moved_range piece = {
			{MAX(r.start, start), MIN(r.end, end), own_object(o, s, &r)}, block};

		if (piece.r.value == OBJECT_NONE)
			return -ENOMEM;
		rc = ranges_remove(t, r.start);
		if (!rc && r.start < piece.r.start)
			rc = ranges_add(t, (struct range){r.start, piece.r.start, piece.r.value});
		if (!rc && r.end > piece.r.end)
			rc = ranges_add(t, (struct range){piece.r.end, r.end, piece.r.value});
		rc = rc ? rc : vec_push(&m->list, piece);
	}
	return rc;
}

static int pieces_put(struct objects *o, struct space *s, const struct moved *m, u64 delta)
{
	int rc = 0;

	vec_each (p, &m->list) {
		struct slot *slot = &o->slots.v[p->r.value];

		if (slot->start >= p->r.start && slot->start < p->r.end)
			slot->start += delta;
		p->r.start += delta;
		p->r.end += delta;
		rc = rc ? rc : ranges_add(p->block ? &s->blocks : &s->maps, p->r);
	}
	return rc;
}

/* What the new place has beyond the old one belongs to the last object there. */
static int moved_grow(struct objects *o, struct space *s, u64 at, u64 end)
{
	struct range r;
	u32 object;

	if (at >= end || !ranges_find(&s->maps, at - 1, &r))
		return 0;
	object = own_object(o, s, &r);
	if (object == OBJECT_NONE)
		return -ENOMEM;
	object_extend(o, object, end - at);
	return ranges_add(&s->maps, (struct range){at, end, object});
}

/* The same memory at a second place: as an object of its own. */
static int map_copy(struct objects *o, struct space *s, const struct object_by *by, u64 old,
	u64 start, u64 bytes)
{
	struct object what = {.kind = OBJECT_ANON};
	struct range r;

	if (ranges_find(&s->maps, old, &r))
		objects_get(o, r.value, &what);
	what.start = start;
	what.bytes = bytes;
	return objects_map(o, by, &what);
}

int objects_move(struct objects *o, const struct object_by *by, u64 old_start, u64 old_bytes,
	u64 start, u64 bytes)
{
	struct space *s = space_get(o, by->tgid);
	u64 kept = MIN(old_bytes, bytes);
	struct moved m = {};
	struct range r;
	int rc = 0;

	if (!s)
		return -ENOMEM;
	if (!range_good(start, bytes) || (old_bytes && !range_good(old_start, old_bytes)))
		return 0;
	if (!old_bytes || !ranges_next(&s->maps, old_start, &r) || r.start >= old_start + kept)
		return map_copy(o, s, by, old_start, start, bytes);
	if (old_bytes > bytes)
		rc = space_cut(o, s, by, old_start + bytes, old_start + old_bytes);
	rc = rc ? rc : pieces_take(o, s, &s->maps, false, old_start, old_start + kept, &m);
	rc = rc ? rc : pieces_take(o, s, &s->blocks, true, old_start, old_start + kept, &m);
	rc = rc ? rc : space_cut(o, s, by, start, start + bytes);
	rc = rc ? rc : pieces_put(o, s, &m, start - old_start);
	rc = rc ? rc : moved_grow(o, s, start + kept, start + bytes);
	vec_free(&m.list);
	return rc;
}
