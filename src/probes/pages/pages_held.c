/* See pages_held.h. */
#include "probes/pages/pages_held.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "capture/live_map.h"
#include "capture/names/names.h"

bool pages_follows(const struct capture *c)
{
	return c->opt.outstanding || (!c->opt.each && capture_operand(c, "held"));
}

int pages_lifetime_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct pages_key *k = key;
	const struct agg_value *v = value;
	struct pages_lifetime r = REC_INIT(struct pages_lifetime, REC_PAGES_LIFETIME, 0);

	r.who = pages_who_of(c, stacks, k);
	r.count = v->count;
	r.total_ns = v->total_ns;
	r.max_ns = v->max_ns;
	_Static_assert(ARRAY_SIZE(r.hist) == LIVE_AGE_SLOTS, "one histogram");
	live_lifetimes(v, r.hist);
	return capture_emit(c, &r.h);
}

static int pages_held_send(
	struct capture *c, const struct stack_maps *stacks, const struct groups *g, u64 now)
{
	int rc = 0;

	for (size_t i = 0; i < g->n && !rc; i++) {
		struct pages_held r = REC_INIT(struct pages_held, REC_PAGES_HELD, now);
		const struct live_ages *s = groups_value(g, i);

		r.who = pages_who_of(c, stacks, groups_key(g, i));
		r.count = s->count;
		r.old = s->old;
		r.oldest_ns = s->oldest_ns;
		_Static_assert(PAGES_HELD_SLOTS == LIVE_AGE_SLOTS, "one histogram");
		memcpy(r.hist, s->hist, sizeof(r.hist));
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

static int follow_send(struct capture *c, struct attached *a, u64 now, u64 held, u64 old_ns)
{
	int cpus = MAX(1, libbpf_num_possible_cpus());
	_cleanup_free_ struct pages_held_counts *v = calloc((size_t)cpus, sizeof(*v));
	struct pages_follow r = REC_INIT(struct pages_follow, REC_PAGES_FOLLOW, now);
	u32 zero = 0;

	if (!v)
		return -ENOMEM;
	if (bpf_map_lookup_elem(attach_map(a, "held_counts"), &zero, v))
		return -errno;
	r.held = held;
	r.room = attach_map_room(a, "held");
	r.old_ns = old_ns;
	for (int i = 0; i < cpus; i++) {
		r.untracked += v[i].untracked;
		r.unknown += v[i].unknown;
		r.parts += v[i].parts;
		r.lifetimes_full += v[i].lifetimes_full;
	}
	return capture_emit(c, &r.h);
}

int pages_held_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks)
{
	static const struct live_layout layout = {
		.value_size = sizeof(struct pages_held_value),
		.time_at = offsetof(struct pages_held_value, time_ns),
		.key_at = offsetof(struct pages_held_value, key),
		.key_size = sizeof(struct pages_key),
	};
	u64 now = clock_mono_ns(), old_ns = live_old_ns(c->begin_ns, now), n;
	struct groups g;
	int rc;

	if (!pages_follows(c))
		return 0;
	rc = live_look(attach_map(a, "held"), &layout, now, old_ns, &g, &n);
	/* It comes first: what it says replaces what is held, even by nothing. */
	if (!rc)
		rc = follow_send(c, a, now, n, old_ns);
	if (!rc)
		rc = pages_held_send(c, stacks, &g, now);
	groups_free(&g);
	return rc;
}
