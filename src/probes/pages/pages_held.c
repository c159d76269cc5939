/* See pages_held.h. */
#include "probes/pages/pages_held.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/groups.h"
#include "capture/names.h"

#define BATCH 4096

/* A slot of the table counts 1024 ns and its doubles; in the record it is ns. */
#define SLOT_SHIFT 10

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
	for (size_t i = 0; i < AGG_SLOTS; i++)
		r.hist[MIN(i + SLOT_SHIFT, ARRAY_SIZE(r.hist) - 1)] += v->hist[i];
	return capture_emit(c, &r.h);
}

struct sums {
	u64 count, oldest_ns;
	u32 hist[PAGES_HELD_SLOTS];
};

static u32 slot_of(u64 ns)
{
	u32 slot = ns ? 64 - (u32)__builtin_clzll(ns) : 0;

	return MIN(slot, (u32)PAGES_HELD_SLOTS - 1);
}

static int held_add(struct groups *g, const struct pages_held_value *h, u64 now)
{
	u64 age = now > h->time_ns ? now - h->time_ns : 0;
	struct sums *s = groups_get(g, &h->key);

	if (!s)
		return -ENOMEM;
	s->count++;
	s->oldest_ns = MAX(s->oldest_ns, age);
	s->hist[slot_of(age)]++;
	return 0;
}

/* Pages come and go meanwhile: each that is there throughout is seen once. */
static int held_walk(int map, struct groups *g, u64 now, u64 *ret_n)
{
	_cleanup_free_ struct pages_held_value *values = calloc(BATCH, sizeof(*values));
	_cleanup_free_ u64 *keys = calloc(BATCH, sizeof(*keys));
	u64 at = 0, *from = NULL;
	int rc = 0, end = 0;

	if (!values || !keys)
		return -ENOMEM;
	while (!rc && !end) {
		u32 n = BATCH;

		end = bpf_map_lookup_batch(map, from, &at, keys, values, &n, NULL) ? -errno : 0;
		if (end && end != -ENOENT)
			return end;
		for (u32 i = 0; i < n && !rc; i++)
			rc = held_add(g, &values[i], now);
		*ret_n += n;
		from = &at;
	}
	return rc;
}

static int held_send(
	struct capture *c, const struct stack_maps *stacks, const struct groups *g, u64 now)
{
	int rc = 0;

	for (size_t i = 0; i < g->n && !rc; i++) {
		struct pages_held r = REC_INIT(struct pages_held, REC_PAGES_HELD, now);
		const struct sums *s = groups_value(g, i);

		r.who = pages_who_of(c, stacks, groups_key(g, i));
		r.count = s->count;
		r.oldest_ns = s->oldest_ns;
		memcpy(r.hist, s->hist, sizeof(r.hist));
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

static int follow_send(struct capture *c, struct attached *a, u64 now, u64 held)
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
	r.room = bpf_map__max_entries(
		bpf_object__find_map_by_name(attach_object(a), "held"));
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
	struct groups g;
	u64 now = clock_mono_ns(), n = 0;
	int rc;

	if (c->opt.each || !capture_operand(c, "held"))
		return 0;
	groups_init(&g, sizeof(struct pages_key), sizeof(struct sums));
	rc = held_walk(attach_map(a, "held"), &g, now, &n);
	/* It comes first: what it says replaces what is held, even by nothing. */
	if (!rc)
		rc = follow_send(c, a, now, n);
	if (!rc)
		rc = held_send(c, stacks, &g, now);
	groups_free(&g);
	return rc;
}
