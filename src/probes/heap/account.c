/* See account.h. */
#include "probes/heap/account.h"

#include <errno.h>
#include <math.h>
#include <string.h>

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
	if (a->sites.n >= ACCOUNT_SITES || vec_push(&a->sites, s))
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

static inline void count_add(u32 *count, u64 n)
{
	*count += (u32)MIN(n, (u64)(~0U - *count));
}

static inline u32 block_age(const struct account_block *b, u64 now_ms)
{
	return (u32)((now_ms - (b->when >> ACCOUNT_COUNT_BITS)) &
		     ACCOUNT_MASK(64 - ACCOUNT_COUNT_BITS));
}

static inline void block_gone(struct account *a, struct account_block *b)
{
	u64 n = account_weight(a, account_block_key(b) << 3, account_block_size(b));

	live_take(a, &a->sites.v[account_block_site(b)], n, account_block_size(b));
	a->threads.v[account_block_thread(b)].live_bytes -= n * account_block_size(b);
	a->threads.v[account_block_thread(b)].live_blocks -= n;
	account_table_remove(&a->live, b);
}

static void block_overwritten(struct account *a, struct account_block *b)
{
	block_gone(a, b);
	a->overwritten++;
}

void account_overwrite(struct account *a, u64 address)
{
	struct account_block *b = account_table_find(&a->live, address);

	if (b)
		block_overwritten(a, b);
}

int account_alloc(struct account *a, u32 thread, u64 address, u64 size, u64 slack, u32 stack,
	bool moved, u64 now_ms)
{
	struct account_thread *t = &a->threads.v[thread];
	struct account_block *b;
	struct account_site *s;
	u64 kept = MIN(size, ACCOUNT_MASK(ACCOUNT_SIZE_BITS)), n = account_weight(a, address, kept);
	u32 site, small = (u32)MIN(size, 0xffffffffULL);
	int rc;

	rc = account_table_room(&a->live, a->beat);
	rc = rc ? rc : site_get(a, stack, &site);
	if (rc)
		return rc;
	b = account_table_at(&a->live, address);
	if (b->where) {
		block_overwritten(a, b);
		b = account_table_at(&a->live, address);
	}
	t->allocations += n;
	t->events++;
	*b = (struct account_block){
		.where = address >> 3 | (u64)thread << ACCOUNT_ADDRESS_BITS,
		.what = kept | (u64)site << ACCOUNT_SIZE_BITS,
		.when = (t->events & ACCOUNT_MASK(ACCOUNT_COUNT_BITS)) |
			now_ms << ACCOUNT_COUNT_BITS,
	};
	a->live.n++;
	s = &a->sites.v[site];
	s->allocations += n;
	s->bytes += n * size;
	s->moved += moved ? n : 0;
	/* musl gives what was asked for, which may be no multiple of 8 */
	s->slack += n * (MAX(((size >> 3) + slack) << 3, size) - size);
	s->min = MIN(s->min, small);
	s->max = MAX(s->max, small);
	t->bytes += n * size;
	t->live_bytes += n * kept;
	t->live_blocks += n;
	a->allocations += n;
	a->bytes += n * size;
	a->moved += moved ? n : 0;
	a->sizes[log2_slot(size, ACCOUNT_SIZES - 1)] += n;
	if (a->sample_bytes) {
		s->variance.bytes += account_variance_of(a, size);
		a->variance.bytes += account_variance_of(a, size);
	}
	live_add(a, s, n, kept, now_ms);
	return 0;
}

void account_free(
	struct account *a, u32 thread, u64 address, u64 now_ms, struct account_moved *ret_moved)
{
	struct account_thread *t = &a->threads.v[thread];
	struct account_block *b = account_table_find(&a->live, address);
	struct account_site *s;
	bool temporary;
	u32 life, slot;
	u64 n;

	if (ret_moved)
		*ret_moved = (struct account_moved){.address = address};
	if (!b) {
		a->unknown_frees += !a->sample_bytes; /* of a block not seen, it is no news */
		return;
	}
	n = account_weight(a, address, account_block_size(b));
	temporary = account_block_thread(b) == thread &&
		    (b->when & ACCOUNT_MASK(ACCOUNT_COUNT_BITS)) ==
			    (t->events & ACCOUNT_MASK(ACCOUNT_COUNT_BITS));
	life = block_age(b, now_ms);
	slot = log2_slot(life, ACCOUNT_TIMES - 1);
	if (ret_moved)
		*ret_moved = (struct account_moved){address, *b, true, temporary, life};
	s = &a->sites.v[account_block_site(b)];
	s->frees += n;
	s->life_ms += n * life;
	s->life_max_ms = MAX(s->life_max_ms, life);
	s->temporary += temporary;
	if (slot)
		count_add(&s->lives[slot], n);
	t->frees += n;
	t->freed_bytes += n * account_block_size(b);
	t->temporary += temporary;
	a->frees += n;
	a->temporary += temporary;
	block_gone(a, b);
}

int account_restore(struct account *a, u32 thread, const struct account_moved *moved)
{
	const struct account_block *b = &moved->block;
	struct account_thread *t = &a->threads.v[thread], *owner;
	struct account_site *s;
	u32 slot;
	u64 n;
	int rc;

	if (!moved->counted || account_table_find(&a->live, moved->address)) {
		a->unknown_frees -= !moved->counted && a->unknown_frees;
		return 0;
	}
	rc = account_table_room(&a->live, a->beat);
	if (rc)
		return rc;
	*account_table_place(&a->live, account_block_key(b)) = *b;
	a->live.n++;
	s = &a->sites.v[account_block_site(b)];
	owner = &a->threads.v[account_block_thread(b)];
	n = account_weight(a, moved->address, account_block_size(b));
	owner->live_bytes += n * account_block_size(b);
	owner->live_blocks += n;
	s->frees -= n;
	s->temporary -= moved->temporary;
	s->life_ms -= n * moved->life_ms;
	slot = log2_slot(moved->life_ms, ACCOUNT_TIMES - 1);
	if (slot)
		s->lives[slot] -= (u32)MIN(n, (u64)s->lives[slot]);
	t->frees -= n;
	t->freed_bytes -= n * account_block_size(b);
	t->temporary -= moved->temporary;
	a->frees -= n;
	a->temporary -= moved->temporary;
	live_add(a, s, n, account_block_size(b), a->peak_ms);
	return 0;
}

int account_thread(struct account *a, u32 tid, u32 *ret)
{
	struct account_thread t = {.tid = tid};

	if (a->threads.n > ACCOUNT_THREADS)
		*ret = ACCOUNT_THREADS; /* the last ones share a place */
	else if (vec_push(&a->threads, t))
		return -ENOMEM;
	else
		*ret = (u32)a->threads.n - 1;
	return 0;
}

static struct account_view view_of(
	const struct account *a, const struct account_block *b, u64 address, u64 now_ms)
{
	return (struct account_view){
		.address = address,
		.bytes = account_block_size(b),
		.begin_ms = now_ms - block_age(b, now_ms),
		.thread = account_block_thread(b),
		.stack = a->sites.v[account_block_site(b)].stack,
	};
}

bool account_find(const struct account *a, u64 address, u64 now_ms, struct account_view *ret)
{
	const struct account_block *b = account_table_find(&a->live, address);

	if (b)
		*ret = view_of(a, b, address, now_ms);
	return b;
}

/* Each place where one may begin is looked up: of neighbours, in neighbouring slots. */
bool account_around(const struct account *a, u64 address, u64 now_ms, struct account_view *ret)
{
	u64 start = address & ~7ULL;

	for (u64 back = 0; back < ACCOUNT_SMALL && back < start; back += 8) {
		const struct account_block *b = account_table_find(&a->live, start - back);

		if (!b)
			continue;
		*ret = view_of(a, b, start - back, now_ms);
		return address - ret->address < ret->bytes && ret->bytes <= ACCOUNT_SMALL;
	}
	return false;
}

bool account_moved_block(const struct account *a, const struct account_moved *m, u64 now_ms,
	struct account_view *ret)
{
	if (m->counted)
		*ret = view_of(a, &m->block, m->address, now_ms);
	return m->counted;
}

static void block_look(struct account *a, const struct account_block *b, u64 now_ms)
{
	struct account_age *age = &a->ages.v[account_block_site(b)];
	u64 n = account_weight(a, account_block_key(b) << 3, account_block_size(b));
	u32 ms = block_age(b, now_ms);

	age->oldest_ms = MAX(age->oldest_ms, ms);
	count_add(&age->blocks[log2_slot(ms, ACCOUNT_TIMES - 1)], n);
	if (ms < a->old_ms)
		return;
	age->old_blocks += n;
	age->old_bytes += n * account_block_size(b);
}

int account_look(struct account *a, u64 now_ms, u64 old_ms)
{
	struct account_age none = {};

	a->ages.n = 0;
	for (size_t i = 0; i < a->sites.n; i++)
		if (vec_push(&a->ages, none))
			return -ENOMEM;
	a->old_ms = old_ms;
	for (u64 i = 0; i < a->live.size; i++) {
		account_beat(a->beat, i);
		if (a->live.v[i].where)
			block_look(a, &a->live.v[i], now_ms);
	}
	return 0;
}

void account_forget_blocks(struct account *a)
{
	account_table_free(&a->live);
	free(a->site_of);
	a->site_of = NULL;
	a->n_site_of = 0;
}

void account_free_all(struct account *a)
{
	account_forget_blocks(a);
	vec_free(&a->sites);
	vec_free(&a->ages);
	vec_free(&a->threads);
}

void account_each(const struct account *a,
	void (*take)(void *arg, u64 address, u64 bytes, u32 stack), void *arg)
{
	for (u64 i = 0; i < a->live.size; i++) {
		const struct account_block *b = &a->live.v[i];

		account_beat(a->beat, i);
		if (b->where)
			take(arg, account_block_key(b) << 3, account_block_size(b),
				a->sites.v[account_block_site(b)].stack);
	}
}
