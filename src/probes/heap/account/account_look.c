/* See account.h: looks at all live blocks. */
#include "probes/heap/account/account_block.h"

#define BEAT_MASK 0xffff /* of slots: a beat each */

typedef void (*block_fn)(void *arg, const struct block *b);

static void blocks_each(const struct account *a, block_fn take, void *arg)
{
	for (u32 k = 0; k < LIVE_PARTS; k++) {
		const struct live_part *p = &a->live.parts[k];

		for (u32 i = 0; i < p->size; i++) {
			struct block b;

			if (a->beat && !(i & BEAT_MASK))
				__atomic_add_fetch(a->beat, 1, __ATOMIC_RELAXED);
			if (!p->v[i].where)
				continue;
			b = block_read(a, &p->v[i]);
			take(arg, &b);
		}
	}
}

struct look {
	struct account *a;
	u64 now_ms;
};

static void account_look_block_look(void *arg, const struct block *b)
{
	const struct look *l = arg;
	struct account_age *age = &l->a->ages.v[l->a->owners.all.v[b->owner].site];
	u64 n = account_weight(l->a, b->address, b->size);
	u32 ms = block_age(b, l->now_ms);

	age->oldest_ms = MAX(age->oldest_ms, ms);
	count_add(&age->blocks[log2_slot(ms, ACCOUNT_TIMES - 1)], n);
	if (ms < l->a->old_ms)
		return;
	age->old_blocks += n;
	age->old_bytes += n * b->size;
}

struct each {
	const struct account *a;
	void (*take)(void *arg, u64 address, u64 bytes, u32 stack);
	void *arg;
};

static void block_hand(void *arg, const struct block *b)
{
	const struct each *e = arg;

	e->take(e->arg, b->address, b->size, site_of(e->a, b)->stack);
}

void account_each(const struct account *a,
	void (*take)(void *arg, u64 address, u64 bytes, u32 stack), void *arg)
{
	blocks_each(a, block_hand, &(struct each){a, take, arg});
}

int account_look(struct account *a, u64 now_ms, u64 old_ms)
{
	struct account_age none = {};

	a->ages.n = 0;
	for (size_t i = 0; i < a->sites.n; i++)
		if (vec_push(&a->ages, none))
			return -ENOMEM;
	a->old_ms = old_ms;
	blocks_each(a, account_look_block_look, &(struct look){a, now_ms});
	return 0;
}
