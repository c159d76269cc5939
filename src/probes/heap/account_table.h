/*
 * The live blocks of an account, by address. Blocks that are near each other in the heap are near
 * each other here: what is allocated and freed one after the other mostly is, and so comes from the
 * same lines and pages. Knows what a block is made of, and not what it is counted for.
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_TABLE_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_TABLE_H

#include "base/util.h"

/*
 * A block in 24 bytes:
 *   where  address >> 3 (45 bits), thread (19)
 *   what   size (40), site (24)
 *   when   the thread's count of allocations (28), time in ms (36)
 */
#define ACCOUNT_ADDRESS_BITS 45
#define ACCOUNT_THREADS ((1U << 19) - 1)
#define ACCOUNT_SIZE_BITS 40
#define ACCOUNT_SITES ((1U << 24) - 1)
#define ACCOUNT_COUNT_BITS 28
#define ACCOUNT_MASK(bits) ((1ULL << (bits)) - 1)

struct account_block {
	u64 where, what, when;
};

struct account_table {
	struct account_block *v;
	u64 n, size; /* size: a power of two, or 0 */
	u32 shift;
};

#define ACCOUNT_NEAR_BITS 4 /* slots */

/* shift: 64 less the bits of the number of a slot. */
static inline u64 account_slot_of(u32 shift, u64 address)
{
	u64 far = (address >> (5 + ACCOUNT_NEAR_BITS)) * 0x9e3779b97f4a7c15ULL >> shift;

	return far ^ (address >> 5 & ((1U << ACCOUNT_NEAR_BITS) - 1));
}

static inline u64 account_slot(const struct account_table *t, u64 address)
{
	return account_slot_of(t->shift, address);
}

static inline u64 account_block_key(const struct account_block *b)
{
	return b->where & ACCOUNT_MASK(ACCOUNT_ADDRESS_BITS);
}

static inline u64 account_block_size(const struct account_block *b)
{
	return b->what & ACCOUNT_MASK(ACCOUNT_SIZE_BITS);
}

static inline u32 account_block_site(const struct account_block *b)
{
	return (u32)(b->what >> ACCOUNT_SIZE_BITS);
}

static inline u32 account_block_thread(const struct account_block *b)
{
	return (u32)(b->where >> ACCOUNT_ADDRESS_BITS);
}

static inline struct account_block *account_table_find(const struct account_table *t, u64 address)
{
	u64 key = address >> 3;

	if (!t->size)
		return NULL;
	for (u64 i = account_slot(t, address);; i = (i + 1) & (t->size - 1)) {
		struct account_block *b = &t->v[i];

		if (!b->where)
			return NULL;
		if (account_block_key(b) == key)
			return b;
	}
}

/* Where the address is, or would be put. The table has room. */
static inline struct account_block *account_table_at(const struct account_table *t, u64 address)
{
	u64 i = account_slot(t, address), key = address >> 3;

	while (t->v[i].where && account_block_key(&t->v[i]) != key)
		i = (i + 1) & (t->size - 1);
	return &t->v[i];
}

/* The free place for an address that is not there. */
static inline struct account_block *account_table_place(const struct account_table *t, u64 key)
{
	u64 i = account_slot(t, key << 3);

	while (t->v[i].where)
		i = (i + 1) & (t->size - 1);
	return &t->v[i];
}

/* Closes the gap: what follows moves up as far as it may. */
static inline void account_table_remove(struct account_table *t, struct account_block *b)
{
	u64 mask = t->size - 1, gap = (u64)(b - t->v);

	for (u64 i = (gap + 1) & mask; t->v[i].where; i = (i + 1) & mask) {
		u64 home = account_slot(t, account_block_key(&t->v[i]) << 3);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		t->v[gap] = t->v[i];
		gap = i;
	}
	t->v[gap].where = 0;
	t->n--;
}

#define ACCOUNT_BEAT_MASK 0xffff /* of slots: a beat each */

/* Counts up what a waiting program looks at, during what takes long. at: may be NULL. */
static inline void account_beat(u32 *at, u64 i)
{
	if (at && !(i & ACCOUNT_BEAT_MASK))
		__atomic_add_fetch(at, 1, __ATOMIC_RELAXED);
}

int account_table_grow(struct account_table *t, u32 *beat);

/* For one more. */
static inline int account_table_room(struct account_table *t, u32 *beat)
{
	int rc = t->n >= t->size - t->size / 4 ? account_table_grow(t, beat) : 0;

	return rc && t->n + 1 >= t->size ? rc : 0;
}

void account_table_free(struct account_table *t);

#endif
