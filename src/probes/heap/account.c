/* See account.h. */
#include "probes/heap/account_block.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define THREADS_MAX (1U << 19) /* that are told apart */

/* For one more. */
static inline int block_room(struct account *a, u64 address, u64 size)
{
	int rc = live_room(&a->live, address, a->beat);

	return rc || size < SIZE_BIG ? rc : live_room(&a->big, address, a->beat);
}

/* In a slot that is free. */
static inline void block_put(struct account *a, struct live_slot *at, const struct block *b)
{
	live_put(&a->live, at, b->address, MIN(b->size, (u64)SIZE_BIG) << SIZE_SHIFT,
		b->begin_ms | (u64)b->owner << OWNER_SHIFT);
	if (b->size >= SIZE_BIG)
		live_put(&a->big, live_at(&a->big, b->address), b->address, 0, b->size);
}

static inline void block_remove(struct account *a, struct live_slot *s)
{
	struct live_slot *big =
		s->where >> SIZE_SHIFT == SIZE_BIG ? live_find(&a->big, live_address(s)) : NULL;

	if (big)
		live_remove(&a->big, big);
	live_remove(&a->live, s);
}

static inline struct account_thread *thread_of(const struct account *a, const struct block *b)
{
	return &a->threads.v[a->owners.all.v[b->owner].thread];
}

static int site_new(struct account *a, u32 stack, u32 *ret)
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

static inline int site_get(struct account *a, u32 stack, u32 *ret)
{
	if (stack >= a->n_site_of || !a->site_of[stack])
		return site_new(a, stack, ret);
	*ret = a->site_of[stack] - 1;
	return 0;
}

/* Another thread than the last one allocates there. Where no more have numbers it is taken for the
 * last one. */
static int owner_change(struct account *a, u32 site, u32 thread)
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

static inline int owner_get(struct account *a, u32 site, u32 thread, u32 *ret)
{
	const struct account_site *s = &a->sites.v[site];
	int rc = s->owner && s->owner_thread == thread ? 0 : owner_change(a, site, thread);

	*ret = rc ? 0 : s->owner - 1;
	return rc;
}

void account_settle(const struct account *a, struct account_site *s)
{
	if (s->peak == a->peak)
		return;
	s->peak = a->peak;
	s->peak_blocks = s->live_blocks;
	s->peak_bytes = s->live_bytes;
	s->variance.peak = s->variance.live;
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

/* What was added and is taken away again leaves 0, but for what floating point leaves. */
static void variance_change(struct account *a, struct account_site *s, double by)
{
	s->variance.live = s->live_blocks ? MAX(s->variance.live + by, 0.0) : 0;
	a->variance.live = a->live_blocks ? MAX(a->variance.live + by, 0.0) : 0;
}

static inline void live_add(struct account *a, struct account_site *s, u64 n, u64 size, u64 now_ms)
{
	account_settle(a, s);
	s->changed = true;
	s->live_blocks += n;
	s->live_bytes += n * size;
	a->live_blocks += n;
	a->live_bytes += n * size;
	if (a->sample_bytes)
		variance_change(a, s, account_variance_of(a, size));
	if (a->live_bytes <= a->high_bytes)
		return;
	a->high_bytes = a->live_bytes;
	if (a->live_bytes > a->peak_bytes) {
		a->variance.peak = a->variance.live;
		a->peak_bytes = a->live_bytes;
		a->peak_blocks = a->live_blocks;
		a->peak_ms = now_ms;
		a->peak++;
	}
}

static inline void live_take(struct account *a, struct account_site *s, u64 n, u64 size)
{
	account_settle(a, s);
	s->changed = true;
	s->live_blocks -= n;
	s->live_bytes -= n * size;
	a->live_blocks -= n;
	a->live_bytes -= n * size;
	if (a->sample_bytes)
		variance_change(a, s, -account_variance_of(a, size));
}

static inline void block_gone(struct account *a, struct live_slot *s, const struct block *b)
{
	u64 n = account_weight(a, b->address, b->size);
	struct account_thread *t = thread_of(a, b);

	live_take(a, site_of(a, b), n, b->size);
	t->live_bytes -= n * b->size;
	t->live_blocks -= n;
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
	struct account_thread *t = &a->threads.v[thread], *owner;
	struct block b = {address & ~7ULL, size, now_ms, 0};
	u64 n = account_weight(a, address, size);
	u32 site, small = (u32)MIN(size, 0xffffffffULL);
	struct account_site *s;
	struct live_slot *at;
	int rc;

	if (!b.address)
		return 0; /* nonsense */
	rc = block_room(a, address, size);
	rc = rc ? rc : site_get(a, stack, &site);
	rc = rc ? rc : owner_get(a, site, thread, &b.owner);
	if (rc)
		return rc;
	at = live_at(&a->live, address);
	block_put(a, at->where ? block_overwritten(a, at) : at, &b);
	t->allocations += n;
	t->events++;
	t->last = b.address;
	s = &a->sites.v[site];
	s->allocations += n;
	s->bytes += n * size;
	s->moved += moved ? n : 0;
	/* musl gives what was asked for, which may be no multiple of 8 */
	s->slack += n * (MAX(((size >> 3) + slack) << 3, size) - size);
	s->min = MIN(s->min, small);
	s->max = MAX(s->max, small);
	t->bytes += n * size;
	owner = thread_of(a, &b);
	owner->live_bytes += n * size;
	owner->live_blocks += n;
	a->allocations += n;
	a->bytes += n * size;
	a->moved += moved ? n : 0;
	a->sizes[log2_slot(size, ACCOUNT_SIZES - 1)] += n;
	if (a->sample_bytes) {
		s->variance.bytes += account_variance_of(a, size);
		a->variance.bytes += account_variance_of(a, size);
	}
	live_add(a, s, n, size, now_ms);
	return 0;
}

void account_free(
	struct account *a, u32 thread, u64 address, u64 now_ms, struct account_moved *ret_moved)
{
	struct account_thread *t = &a->threads.v[thread];
	struct live_slot *at = live_find(&a->live, address);
	struct account_site *s;
	bool temporary;
	u32 life, slot;
	struct block b;
	u64 n;

	if (ret_moved)
		*ret_moved = (struct account_moved){.address = address};
	if (!at) {
		a->unknown_frees += !a->sample_bytes; /* of a block not seen, it is no news */
		return;
	}
	b = block_read(a, at);
	n = account_weight(a, address, b.size);
	temporary = t->last == b.address && thread_of(a, &b) == t;
	life = block_age(&b, now_ms);
	slot = log2_slot(life, ACCOUNT_TIMES - 1);
	if (ret_moved)
		*ret_moved = (struct account_moved){
			address, b.size, b.begin_ms, b.owner, true, temporary, life};
	s = site_of(a, &b);
	s->frees += n;
	s->life_ms += n * life;
	s->life_max_ms = MAX(s->life_max_ms, life);
	s->temporary += temporary;
	if (slot)
		count_add(&s->lives[slot], n);
	t->frees += n;
	t->freed_bytes += n * b.size;
	t->temporary += temporary;
	a->frees += n;
	a->temporary += temporary;
	block_gone(a, at, &b);
}

int account_restore(struct account *a, u32 thread, const struct account_moved *moved)
{
	struct block b = {moved->address & ~7ULL, moved->size, moved->begin_ms, moved->owner};
	struct account_thread *t = &a->threads.v[thread], *owner;
	struct account_site *s;
	u32 slot;
	u64 n;
	int rc;

	if (!moved->counted || live_find(&a->live, moved->address)) {
		a->unknown_frees -= !moved->counted && a->unknown_frees;
		return 0;
	}
	rc = block_room(a, b.address, b.size);
	if (rc)
		return rc;
	block_put(a, live_at(&a->live, b.address), &b);
	s = site_of(a, &b);
	owner = thread_of(a, &b);
	n = account_weight(a, moved->address, b.size);
	owner->live_bytes += n * b.size;
	owner->live_blocks += n;
	s->frees -= n;
	s->temporary -= moved->temporary;
	s->life_ms -= n * moved->life_ms;
	slot = log2_slot(moved->life_ms, ACCOUNT_TIMES - 1);
	if (slot)
		s->lives[slot] -= (u32)MIN(n, (u64)s->lives[slot]);
	t->frees -= n;
	t->freed_bytes -= n * b.size;
	t->temporary -= moved->temporary;
	a->frees -= n;
	a->temporary -= moved->temporary;
	live_add(a, s, n, b.size, a->peak_ms);
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
