/* Private to the account: how a live block is kept. */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_BLOCK_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_BLOCK_H

#include "probes/heap/account/account.h"

/*
 * A block in 16 bytes:
 *   where  address >> 3 (45 bits), size (19; all ones: it is in `big`)
 *   what   owner (24), time in ms (40)
 */
#define SIZE_SHIFT LIVE_ADDRESS_BITS
#define SIZE_BIG ((1U << (64 - SIZE_SHIFT)) - 1)
#define OWNER_SHIFT 40 /* and OWNERS_BITS above */
#define MASK(bits) ((1ULL << (bits)) - 1)

_Static_assert(ACCOUNT_MS_MAX == MASK(OWNER_SHIFT), "times of blocks");

/* A block that is there, its slot read. */
struct block {
	u64 address, size;
	u64 begin_ms;
	u32 owner;
};

static inline struct block block_read(const struct account *a, const struct live_slot *s)
{
	struct block b = {
		.address = live_address(s),
		.size = s->where >> SIZE_SHIFT,
		.begin_ms = s->what & MASK(OWNER_SHIFT),
		.owner = (u32)(s->what >> OWNER_SHIFT),
	};
	const struct live_slot *big = b.size == SIZE_BIG ? live_find(&a->big, b.address) : NULL;

	if (big)
		b.size = big->what;
	return b;
}

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

static inline struct account_site *site_of(const struct account *a, const struct block *b)
{
	return &a->sites.v[a->owners.all.v[b->owner].site];
}

static inline u32 block_age(const struct block *b, u64 now_ms)
{
	return (u32)(now_ms - b->begin_ms);
}

static inline void count_add(u32 *count, u64 n)
{
	*count += (u32)MIN(n, (u64)(~0U - *count));
}

#endif
