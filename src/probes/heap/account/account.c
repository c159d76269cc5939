/* See account.h. */
#include "probes/heap/account/account_sums.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define THREADS_MAX (1U << 19) /* that are told apart */

int account_site_new(struct account *a, u32 stack, u32 *ret)
{
	struct account_site s = {.stack = stack, .min = ~0U, .peak = a->peak};

	if (stack >= a->n_site_of) {
		u32 n = MAX(stack + 1, 2 * a->n_site_of);
		u32 *grown = realloc(a->site_of, n * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + a->n_site_of, 0, (n - a->n_site_of) * sizeof(*grown));
		a->site_of = grown;
		a->n_site_of = n;
	}
	if (vec_push(&a->sites, s))
		return -ENOMEM;
	a->site_of[stack] = (u32)a->sites.n;
	*ret = (u32)a->sites.n - 1;
	return 0;
}

int account_owner_change(struct account *a, u32 site, u32 thread)
{
	struct account_site *s = &a->sites.v[site];
	u32 owner;
	int rc = owners_get(&a->owners, site, thread, &owner);

	if (rc == -ENOSPC && s->owner)
		return 0;
	if (rc)
		return rc;
	s->owner = owner + 1;
	s->owner_thread = thread;
	return 0;
}

void account_settle(const struct account *a, struct account_site *s)
{
	site_settle(a, s);
}

void account_settle_all(struct account *a)
{
	vec_each (s, &a->sites)
		account_settle(a, s);
}

static double weight_of(const struct account *a, u64 size)
{
	return 1 / -expm1(-(double)MAX(size, 1ULL) / (double)a->sample_bytes);
}

double account_variance_of(const struct account *a, u64 size)
{
	double w = weight_of(a, size);

	return (double)size * (double)size * w * (w - 1);
}

u64 account_weight(const struct account *a, u64 address, u64 size)
{
	double weight, whole;
	u64 chance;

	if (!a->sample_bytes)
		return 1;
	weight = weight_of(a, size);
	whole = floor(weight);
	chance = (address ^ size << 20) * 0x9e3779b97f4a7c15ULL >> 32;
	return (u64)whole + ((double)chance / 4294967296.0 < weight - whole);
}

void account_variance_change(struct account *a, struct account_site *s, double by)
{
	s->variance.live = s->live_blocks ? MAX(s->variance.live + by, 0.0) : 0;
	a->variance.live = a->live_blocks ? MAX(a->variance.live + by, 0.0) : 0;
}

static inline bool is_sampled(const struct account *a)
{
	return a->sample_bytes;
}

static inline void block_gone(struct account *a, struct live_slot *s, const struct block *b)
{
	sums_gone(a, b, account_weight(a, b->address, b->size), is_sampled(a));
	block_remove(a, s);
}

/* Its address is given out again. */
static struct live_slot *block_overwritten(struct account *a, struct live_slot *s)
{
	struct block b = block_read(a, s);

	block_gone(a, s, &b);
	a->overwritten++;
	return live_at(&a->live, b.address);
}

void account_overwrite(struct account *a, u64 address)
{
	struct live_slot *s = live_find(&a->live, address);

	if (s)
		block_overwritten(a, s);
}

int account_alloc(struct account *a, u32 thread, u64 address, u64 size, u64 slack, u32 stack,
	bool moved, u64 now_ms)
{
	struct block b = {address & ~7ULL, size, now_ms, 0};
	struct live_slot *at;
	u32 site;
	int rc;

	if (!b.address)
		return 0; /* nonsense */
	rc = block_room(a, address, size);
	rc = rc ? rc : owner_get(a, thread, stack, &site, &b.owner);
	if (rc)
		return rc;
	at = live_at(&a->live, address);
	block_put(a, at->where ? block_overwritten(a, at) : at, &b);
	sums_alloc(
		a, thread, site, &b, slack, moved, account_weight(a, address, size), is_sampled(a));
	return 0;
}

void account_free(
	struct account *a, u32 thread, u64 address, u64 now_ms, struct account_moved *ret_moved)
{
	struct live_slot *at = live_find(&a->live, address);
	struct block b;

	if (ret_moved)
		*ret_moved = (struct account_moved){.address = address};
	if (!at) {
		a->unknown_frees += !a->sample_bytes; /* of a block not seen, it is no news */
		return;
	}
	b = block_read(a, at);
	sums_free(a, thread, &b, now_ms, account_weight(a, address, b.size), is_sampled(a),
		ret_moved);
	block_remove(a, at);
}

int account_restore(struct account *a, u32 thread, const struct account_moved *moved)
{
	struct block b = {moved->address & ~7ULL, moved->size, moved->begin_ms, moved->owner};
	int rc;

	if (!moved->counted || live_find(&a->live, moved->address)) {
		a->unknown_frees -= !moved->counted && a->unknown_frees;
		return 0;
	}
	rc = block_room(a, b.address, b.size);
	if (rc)
		return rc;
	block_put(a, live_at(&a->live, b.address), &b);
	sums_restore(
		a, thread, &b, moved, account_weight(a, moved->address, b.size), is_sampled(a));
	return 0;
}

int account_thread(struct account *a, u32 tid, u32 *ret)
{
	struct account_thread t = {.tid = tid};

	/* further ones share the last place */
	if (a->threads.n < THREADS_MAX && vec_push(&a->threads, t))
		return -ENOMEM;
	*ret = (u32)a->threads.n - 1;
	return 0;
}

static struct account_view view_of(const struct account *a, const struct block *b)
{
	const struct owner *o = &a->owners.all.v[b->owner];

	return (struct account_view){
		.address = b->address,
		.bytes = b->size,
		.begin_ms = b->begin_ms,
		.thread = o->thread,
		.stack = a->sites.v[o->site].stack,
	};
}

bool account_find(const struct account *a, u64 address, struct account_view *ret)
{
	const struct live_slot *s = live_find(&a->live, address);
	struct block b;

	if (!s)
		return false;
	b = block_read(a, s);
	*ret = view_of(a, &b);
	return true;
}

/* Each place where one may begin is looked up: of neighbours, in neighbouring slots. */
bool account_around(const struct account *a, u64 address, struct account_view *ret)
{
	u64 start = address & ~7ULL;

	for (u64 back = 0; back < ACCOUNT_SMALL && back < start; back += 8)
		if (account_find(a, start - back, ret))
			return address - ret->address < ret->bytes && ret->bytes <= ACCOUNT_SMALL;
	return false;
}

bool account_moved_block(
	const struct account *a, const struct account_moved *m, struct account_view *ret)
{
	const struct block b = {m->address, m->size, m->begin_ms, m->owner};

	if (m->counted)
		*ret = view_of(a, &b);
	return m->counted;
}

u64 account_bytes(const struct account *a)
{
	return live_bytes(&a->live) + live_bytes(&a->big) + a->n_site_of * sizeof(*a->site_of) +
	       a->sites.cap * sizeof(*a->sites.v) + a->threads.cap * sizeof(*a->threads.v) +
	       a->owners.all.cap * sizeof(*a->owners.all.v) +
	       a->owners.n_of * sizeof(*a->owners.of);
}

void account_forget_blocks(struct account *a)
{
	live_free(&a->live);
	live_free(&a->big);
	free(a->site_of);
	a->site_of = NULL;
	a->n_site_of = 0;
	owners_free(&a->owners);
}

void account_free_all(struct account *a)
{
	account_forget_blocks(a);
	vec_free(&a->sites);
	vec_free(&a->ages);
	vec_free(&a->threads);
}
