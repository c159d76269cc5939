/*
 * The live blocks of a heap by address, in open addressing with 16 bytes per entry. The table is
 * split into parts that grow separately, and by a quarter once they are large, so that it takes 24
 * to 32 bytes per block. Does not know what is kept with an address.
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_LIVE_BLOCKS_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_LIVE_BLOCKS_H

#include "base/util.h"

#define LIVE_PARTS_BITS 4
#define LIVE_PARTS (1U << LIVE_PARTS_BITS)

/* `where` has the address >> 3 in its low bits; the others, and `what`, are the user's. */
#define LIVE_ADDRESS_BITS 45

struct live_slot {
	u64 where, what; /* where 0: free */
};

struct live_part {
	struct live_slot *v;
	u32 n, size;
};

struct live {
	struct live_part parts[LIVE_PARTS];
	u64 n;
	struct live_slot *spare; /* what the last part to grow had: its pages serve the next one */
	u64 spare_bytes;
};

/* Blocks that are near each other in the heap are near each other in the table: what is allocated
 * and freed one after the other mostly is, and so comes from the same lines and pages. */
#define LIVE_NEAR_BITS 4 /* slots, of 32 bytes of the heap each */
#define LIVE_NEAR (1U << LIVE_NEAR_BITS)

/* The part that an address belongs to, and where in it the search begins. */
static inline struct live_part *live_part(const struct live *l, u64 address, u32 *ret_slot)
{
	u64 hash = (address >> (5 + LIVE_NEAR_BITS)) * 0x9e3779b97f4a7c15ULL;
	const struct live_part *p = &l->parts[hash >> (64 - LIVE_PARTS_BITS)];
	u64 far = (hash >> (32 - LIVE_PARTS_BITS) & 0xffffffff) * (p->size >> LIVE_NEAR_BITS) >> 32;

	*ret_slot = (u32)(far << LIVE_NEAR_BITS | (address >> 5 & (LIVE_NEAR - 1)));
	return (struct live_part *)p;
}

static inline u64 live_address(const struct live_slot *s)
{
	return (s->where & ((1ULL << LIVE_ADDRESS_BITS) - 1)) << 3;
}

static inline u32 live_after(const struct live_part *p, u32 slot)
{
	return slot + 1 < p->size ? slot + 1 : 0;
}

/* Where the address is, or would be put. There is room for it. */
static inline struct live_slot *live_at(const struct live *l, u64 address)
{
	u32 i;
	struct live_part *p = live_part(l, address, &i);

	while (p->v[i].where && live_address(&p->v[i]) != (address & ~7ULL))
		i = live_after(p, i);
	return &p->v[i];
}

/* NULL: it is not there. */
static inline struct live_slot *live_find(const struct live *l, u64 address)
{
	struct live_slot *s;
	u32 i;

	if (!live_part(l, address, &i)->n)
		return NULL;
	s = live_at(l, address);
	return s->where ? s : NULL;
}

/* The event of this address is about to come. */
static inline void live_prefetch(const struct live *l, u64 address)
{
	u32 i;
	struct live_part *p = live_part(l, address, &i);

	/* a number, as it may be of a table that is not there yet */
	__builtin_prefetch((const void *)((u64)p->v + i * sizeof(struct live_slot)), 1);
}

/* Makes room for one more at this address; beat: counted up during what takes long, may be NULL. 0,
 * or -ENOMEM. */
int live_grow(struct live *l, u64 address, u32 *beat);

static inline int live_room(struct live *l, u64 address, u32 *beat)
{
	u32 i;
	const struct live_part *p = live_part(l, address, &i);

	return p->n < p->size - p->size / 3 ? 0 : live_grow(l, address, beat);
}

/* Puts it where live_at() says, which is free. */
static inline void live_put(
	struct live *l, struct live_slot *at, u64 address, u64 more_where, u64 what)
{
	u32 i;

	*at = (struct live_slot){address >> 3 | more_where, what};
	live_part(l, address, &i)->n++;
	l->n++;
}

void live_remove(struct live *l, struct live_slot *s);
/* What it takes of memory. */
u64 live_bytes(const struct live *l);
void live_free(struct live *l);

#endif
