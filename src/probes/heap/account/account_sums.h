/*
 * Private to the accounts: what an allocation and a free change in the sums, however the blocks
 * themselves are kept. n is what the block stands for (account_weight()); 1 where all is seen,
 * which `sampled` says, a constant where that is known beforehand.
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_SUMS_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_SUMS_H

#include "probes/heap/account/account_block.h"

/* The first of a stack; -ENOMEM. */
int account_site_new(struct account *a, u32 stack, u32 *ret);
/* Another thread than the last one allocates there. Where no more have numbers it is taken for the
 * last one. */
int account_owner_change(struct account *a, u32 site, u32 thread);
/* What was added and is taken away again leaves 0, but for what floating point leaves. */
void account_variance_change(struct account *a, struct account_site *s, double by);

static inline struct account_thread *thread_of(const struct account *a, const struct block *b)
{
	return &a->threads.v[a->owners.all.v[b->owner].thread];
}

/* Who it is that allocates: -ENOMEM, and nothing is changed. */
static inline int owner_get(struct account *a, u32 thread, u32 stack, u32 *ret_site, u32 *ret)
{
	const struct account_site *s;
	int rc = 0;

	if (stack >= a->n_site_of || !a->site_of[stack])
		rc = account_site_new(a, stack, ret_site);
	else
		*ret_site = a->site_of[stack] - 1;
	if (rc)
		return rc;
	s = &a->sites.v[*ret_site];
	if (!s->owner || s->owner_thread != thread)
		rc = account_owner_change(a, *ret_site, thread);
	*ret = rc ? 0 : s->owner - 1;
	return rc;
}

static inline void site_settle(const struct account *a, struct account_site *s)
{
	if (s->peak == a->peak)
		return;
	s->peak = a->peak;
	s->peak_blocks = s->live_blocks;
	s->peak_bytes = s->live_bytes;
	s->variance.peak = s->variance.live;
}

static inline void live_add(
	struct account *a, struct account_site *s, u64 n, u64 size, u64 now_ms, bool sampled)
{
	site_settle(a, s);
	s->changed = true;
	s->live_blocks += n;
	s->live_bytes += n * size;
	a->live_blocks += n;
	a->live_bytes += n * size;
	if (sampled)
		account_variance_change(a, s, account_variance_of(a, size));
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

static inline void live_take(
	struct account *a, struct account_site *s, u64 n, u64 size, bool sampled)
{
	site_settle(a, s);
	s->changed = true;
	s->live_blocks -= n;
	s->live_bytes -= n * size;
	a->live_blocks -= n;
	a->live_bytes -= n * size;
	if (sampled)
		account_variance_change(a, s, -account_variance_of(a, size));
}

/* A block is allocated: slack and moved as in account_alloc(). */
static inline void sums_alloc(struct account *a, u32 thread, u32 site, const struct block *b,
	u64 slack, bool moved, u64 n, bool sampled)
{
	struct account_thread *t = &a->threads.v[thread], *owner = thread_of(a, b);
	struct account_site *s = &a->sites.v[site];
	u64 size = b->size;
	u32 small = (u32)MIN(size, 0xffffffffULL);

	t->allocations += n;
	t->events++;
	t->last = b->address;
	s->allocations += n;
	s->bytes += n * size;
	s->moved += moved ? n : 0;
	/* musl gives what was asked for, which may be no multiple of 8 */
	s->slack += n * (MAX(((size >> 3) + slack) << 3, size) - size);
	s->min = MIN(s->min, small);
	s->max = MAX(s->max, small);
	t->bytes += n * size;
	owner->live_bytes += n * size;
	owner->live_blocks += n;
	a->allocations += n;
	a->bytes += n * size;
	a->moved += moved ? n : 0;
	a->sizes[log2_slot(size, ACCOUNT_SIZES - 1)] += n;
	if (sampled) {
		s->variance.bytes += account_variance_of(a, size);
		a->variance.bytes += account_variance_of(a, size);
	}
	live_add(a, s, n, size, b->begin_ms, sampled);
}

/* It is live no more, whether or not it was freed. */
static inline void sums_gone(struct account *a, const struct block *b, u64 n, bool sampled)
{
	struct account_thread *t = thread_of(a, b);

	live_take(a, site_of(a, b), n, b->size, sampled);
	t->live_bytes -= n * b->size;
	t->live_blocks -= n;
}

/* It is freed; ret_moved may be NULL. */
static inline void sums_free(struct account *a, u32 thread, const struct block *b, u64 now_ms,
	u64 n, bool sampled, struct account_moved *ret_moved)
{
	struct account_thread *t = &a->threads.v[thread];
	struct account_site *s = site_of(a, b);
	bool temporary = t->last == b->address && thread_of(a, b) == t;
	u32 life = block_age(b, now_ms), slot = log2_slot(life, ACCOUNT_TIMES - 1);

	if (ret_moved)
		*ret_moved = (struct account_moved){
			b->address, b->size, b->begin_ms, b->owner, true, temporary, life};
	s->frees += n;
	s->life_ms += n * life;
	s->life_max_ms = MAX(s->life_max_ms, life);
	s->temporary += temporary;
	if (slot)
		count_add(&s->lives[slot], n);
	t->frees += n;
	t->freed_bytes += n * b->size;
	t->temporary += temporary;
	a->frees += n;
	a->temporary += temporary;
	sums_gone(a, b, n, sampled);
}

/* As if it had not been freed: b is live again. */
static inline void sums_restore(struct account *a, u32 thread, const struct block *b,
	const struct account_moved *moved, u64 n, bool sampled)
{
	struct account_thread *t = &a->threads.v[thread], *owner = thread_of(a, b);
	struct account_site *s = site_of(a, b);
	u32 slot = log2_slot(moved->life_ms, ACCOUNT_TIMES - 1);

	owner->live_bytes += n * b->size;
	owner->live_blocks += n;
	s->frees -= n;
	s->temporary -= moved->temporary;
	s->life_ms -= n * moved->life_ms;
	if (slot)
		s->lives[slot] -= (u32)MIN(n, (u64)s->lives[slot]);
	t->frees -= n;
	t->freed_bytes -= n * b->size;
	t->temporary -= moved->temporary;
	a->frees -= n;
	a->temporary -= moved->temporary;
	live_add(a, s, n, b->size, a->peak_ms, sampled);
}

#endif
