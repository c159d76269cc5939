/* See slab_held.h. */
#include "probes/slab/slab_held.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/live_map.h"

#define OBJECT_BYTES 152 /* an entry of the table, as the kernel lays it out */
#define OBJECTS_PART 256 /* of the machine's memory */
#define OBJECTS_MIN (1U << 16)
#define OBJECTS_MAX (1U << 20)

u32 slab_objects_room(void)
{
	u64 bytes = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE);
	u64 n = bytes / OBJECTS_PART / OBJECT_BYTES;

	return (u32)(n < OBJECTS_MIN ? OBJECTS_MIN : n > OBJECTS_MAX ? OBJECTS_MAX : n);
}

int slab_held_open(struct capture *c, struct err *err)
{
	struct slab_state *s = c->state;

	(void)err;
	groups_init(&s->known, sizeof(struct slab_key), sizeof(struct slab_who));
	return 0;
}

void slab_held_close(struct capture *c)
{
	struct slab_state *s = c->state;

	groups_free(&s->known);
}

int slab_held_learn(struct capture *c, const struct slab_key *k, const struct slab_agg *r)
{
	struct slab_state *s = c->state;
	struct slab_who *w;

	if (!c->opt.outstanding || k->event >= SLAB_KFREE)
		return 0;
	w = groups_get(&s->known, k);
	if (!w)
		return -ENOMEM;
	*w = (struct slab_who){
		.tgid = r->tgid,
		.tid = r->tid,
		.stack = r->stack,
		.site = r->site,
		.bytes = r->bytes,
		.flags = r->flags & SLAB_LARGE,
	};
	memcpy(w->cache, r->cache, sizeof(w->cache));
	return 0;
}

/* Every object that is followed was counted too, and that was drained before: but for those of the
 * moment, which the next look has. */
static const struct slab_who *slab_held_who_of(const struct capture *c, const struct slab_key *k)
{
	const struct slab_state *s = c->state;

	return groups_find(&s->known, k);
}

int slab_lifetime_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct slab_who *w = slab_held_who_of(c, key);
	const struct agg_value *v = value;
	struct slab_lifetime r = REC_INIT(struct slab_lifetime, REC_SLAB_LIFETIME, 0);

	(void)stacks;
	if (!w)
		return 0;
	r.who = *w;
	r.count = v->count;
	r.total_ns = v->total_ns;
	r.max_ns = v->max_ns;
	_Static_assert(SLAB_AGE_SLOTS == LIVE_AGE_SLOTS, "one histogram");
	live_lifetimes(v, r.hist);
	return capture_emit(c, &r.h);
}

static int slab_held_send(struct capture *c, const struct groups *g, u64 now)
{
	int rc = 0;

	for (size_t i = 0; i < g->n && !rc; i++) {
		struct slab_held r = REC_INIT(struct slab_held, REC_SLAB_HELD, now);
		const struct slab_who *w = slab_held_who_of(c, groups_key(g, i));
		const struct live_ages *s = groups_value(g, i);

		if (!w)
			continue;
		r.who = *w;
		r.count = s->count;
		r.old = s->old;
		r.oldest_ns = s->oldest_ns;
		memcpy(r.hist, s->hist, sizeof(r.hist));
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

static int follow_send(struct capture *c, struct attached *a, u64 now, u64 held, u64 old_ns)
{
	struct slab_follow r = REC_INIT(struct slab_follow, REC_SLAB_FOLLOW, now);
	u32 zero = 0;

	r.held = held;
	r.room = attach_map_room(a, "objects");
	r.old_ns = old_ns;
	if (bpf_map_lookup_elem(attach_map(a, "lifetimes_full"), &zero, &r.lifetimes_full))
		return -errno;
	return capture_emit(c, &r.h);
}

int slab_held_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks)
{
	static const struct live_layout layout = {
		.value_size = sizeof(struct slab_object),
		.time_at = offsetof(struct slab_object, time_ns),
		.key_at = offsetof(struct slab_object, key),
		.key_size = sizeof(struct slab_key),
	};
	u64 now = clock_mono_ns(), old_ns = live_old_ns(c->begin_ns, now), n;
	struct groups g;
	int rc;

	(void)stacks;
	if (!c->opt.outstanding)
		return 0;
	rc = live_look(attach_map(a, "objects"), &layout, now, old_ns, &g, &n);
	if (!rc)
		rc = follow_send(c, a, now, n, old_ns);
	if (!rc)
		rc = slab_held_send(c, &g, now);
	groups_free(&g);
	return rc;
}
