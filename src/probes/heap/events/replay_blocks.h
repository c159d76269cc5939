/*
 * The live blocks of a recording, by their numbers in the order of allocation: a page has the
 * places of 64 that follow each other, so that a block is found without a search, and is mostly
 * near to what is next. Where few of a page are left, and it is not one of the newest, they move to
 * the table of the account: 16 to 60 bytes a block. Events change the sums as those of account.h
 * do.
 */
#ifndef MEMWHY_PROBES_HEAP_EVENTS_REPLAY_BLOCKS_H
#define MEMWHY_PROBES_HEAP_EVENTS_REPLAY_BLOCKS_H

#include "probes/heap/account/account_sums.h"

#define NUMBERED_BITS 6
#define NUMBERED_BLOCKS (1U << NUMBERED_BITS) /* of a page */
#define NUMBERED_NEAR_BITS 4                  /* pages that stand together */

struct replay_slot {
	u64 bytes, what; /* what: as of a block, see account_block.h */
};

struct replay_page {
	u64 key;  /* number of its first block >> NUMBERED_BITS, plus one; 0: there is none */
	u64 live; /* a bit each */
	struct replay_slot *v;
	u32 n; /* live */
};

struct replay_blocks {
	struct replay_page open;   /* the newest; not in pages */
	struct replay_page *pages; /* by hash of the key, in open addressing */
	u32 n, bits;               /* of these; of their places */
	struct replay_slot *spare; /* places for a page, linked by `bytes` */
	VEC(char *) rooms;         /* where those are */
	u64 room_used, room_bytes; /* of the last one */
	u64 bytes;                 /* of all of them */
};

/* Another page is begun. -ENOMEM: nothing is changed. */
int replay_blocks_begin(struct replay_blocks *m, struct account *a, u64 key);
/* Few are left of a page that is not open. */
void replay_blocks_few(struct replay_blocks *m, struct account *a, struct replay_page *p);
#define NUMBERED_FEW 20

static inline u64 replay_blocks_key(u64 number)
{
	return (number >> NUMBERED_BITS) + 1;
}

/* Where among the pages the search begins. */
static inline u64 replay_blocks_place(const struct replay_blocks *m, u64 key)
{
	u64 far = (key >> NUMBERED_NEAR_BITS) * 0x9e3779b97f4a7c15ULL >>
		  (64 + NUMBERED_NEAR_BITS - m->bits);

	return far << NUMBERED_NEAR_BITS | (key & ((1U << NUMBERED_NEAR_BITS) - 1));
}

/* NULL: it has none. */
static inline struct replay_page *replay_blocks_page(struct replay_blocks *m, u64 number)
{
	u64 key = replay_blocks_key(number), i;

	if (key == m->open.key)
		return &m->open;
	if (!m->n)
		return NULL;
	for (i = replay_blocks_place(m, key); m->pages[i].key != key; i = (i + 1) & MASK(m->bits))
		if (!m->pages[i].key)
			return NULL;
	return &m->pages[i];
}

static inline struct replay_slot *replay_blocks_slot(const struct replay_page *p, u64 number)
{
	return &p->v[number % NUMBERED_BLOCKS];
}

static inline u64 replay_blocks_bit(u64 number)
{
	return 1ULL << number % NUMBERED_BLOCKS;
}

/* What the account has for the address of a block. */
static inline u64 replay_blocks_address(u64 number)
{
	return number << 5;
}

static inline void replay_blocks_put(struct replay_page *p, u64 number, const struct block *b)
{
	*replay_blocks_slot(p, number) =
		(struct replay_slot){b->size, b->begin_ms | (u64)b->owner << OWNER_SHIFT};
	p->live |= replay_blocks_bit(number);
	p->n++;
}

static inline struct block replay_blocks_read(const struct replay_page *p, u64 number)
{
	const struct replay_slot *s = replay_blocks_slot(p, number);

	return (struct block){replay_blocks_address(number), s->bytes, s->what & MASK(OWNER_SHIFT),
		(u32)(s->what >> OWNER_SHIFT)};
}

static inline void replay_blocks_remove(
	struct replay_blocks *m, struct account *a, struct replay_page *p, u64 number)
{
	p->live ^= replay_blocks_bit(number);
	if (--p->n <= NUMBERED_FEW && p != &m->open)
		replay_blocks_few(m, a, p);
}

/* Numbers rise. The others are as in account.h. */
static inline int replay_blocks_alloc(struct replay_blocks *m, struct account *a, u32 thread,
	u64 number, u64 size, u64 slack, u32 stack, bool moved, u64 now_ms)
{
	struct block b = {replay_blocks_address(number), size, now_ms, 0};
	u64 key = replay_blocks_key(number);
	u32 site;
	int rc = key == m->open.key ? 0 : replay_blocks_begin(m, a, key);

	rc = rc ? rc : owner_get(a, thread, stack, &site, &b.owner);
	if (rc)
		return rc;
	replay_blocks_put(&m->open, number, &b);
	sums_alloc(a, thread, site, &b, slack, moved, 1, false);
	return 0;
}

static inline void replay_blocks_free(struct replay_blocks *m, struct account *a, u32 thread,
	u64 number, u64 now_ms, struct account_moved *ret_moved)
{
	struct replay_page *p = replay_blocks_page(m, number);
	struct block b;

	if (!p || !(p->live & replay_blocks_bit(number))) {
		account_free(a, thread, replay_blocks_address(number), now_ms, ret_moved);
		return;
	}
	b = replay_blocks_read(p, number);
	sums_free(a, thread, &b, now_ms, 1, false, ret_moved);
	replay_blocks_remove(m, a, p, number);
}

/* It is gone, though no free of it was seen. */
void replay_blocks_lose(struct replay_blocks *m, struct account *a, u64 number);
/* As account_restore(). */
int replay_blocks_restore(
	struct replay_blocks *m, struct account *a, u32 thread, const struct account_moved *moved);
/* What it takes of memory, without the account. */
u64 replay_blocks_bytes(const struct replay_blocks *m);
void replay_blocks_free_all(struct replay_blocks *m);

#endif
