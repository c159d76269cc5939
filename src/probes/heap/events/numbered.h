/*
 * The live blocks of a recording, by their numbers in the order of allocation: a page has the
 * places of 64 that follow each other, so that a block is found without a search, and is mostly
 * near to what is next. Where few of a page are left, and it is not one of the newest, they move to
 * the table of the account: 16 to 60 bytes a block. Events change the sums as those of account.h
 * do.
 */
#ifndef MEMWHY_PROBES_HEAP_EVENTS_NUMBERED_H
#define MEMWHY_PROBES_HEAP_EVENTS_NUMBERED_H

#include "probes/heap/account/account_sums.h"

#define NUMBERED_BITS 6
#define NUMBERED_BLOCKS (1U << NUMBERED_BITS) /* of a page */
#define NUMBERED_NEAR_BITS 4                  /* pages that stand together */

struct numbered_slot {
	u64 bytes, what; /* what: as of a block, see account_block.h */
};

struct numbered_page {
	u64 key;  /* number of its first block >> NUMBERED_BITS, plus one; 0: there is none */
	u64 live; /* a bit each */
	struct numbered_slot *v;
	u32 n; /* live */
};

struct numbered {
	struct numbered_page open;   /* the newest; not in pages */
	struct numbered_page *pages; /* by hash of the key, in open addressing */
	u32 n, bits;                 /* of these; of their places */
	struct numbered_slot *spare; /* places for a page, linked by `bytes` */
	VEC(char *) rooms;           /* where those are */
	u64 room_used, room_bytes;   /* of the last one */
	u64 bytes;                   /* of all of them */
};

/* Another page is begun. -ENOMEM: nothing is changed. */
int numbered_begin(struct numbered *m, struct account *a, u64 key);
/* Few are left of a page that is not open. */
void numbered_few(struct numbered *m, struct account *a, struct numbered_page *p);
#define NUMBERED_FEW 20

static inline u64 numbered_key(u64 number)
{
	return (number >> NUMBERED_BITS) + 1;
}

/* Where among the pages the search begins. */
static inline u64 numbered_place(const struct numbered *m, u64 key)
{
	u64 far = (key >> NUMBERED_NEAR_BITS) * 0x9e3779b97f4a7c15ULL >>
		  (64 + NUMBERED_NEAR_BITS - m->bits);

	return far << NUMBERED_NEAR_BITS | (key & ((1U << NUMBERED_NEAR_BITS) - 1));
}

/* NULL: it has none. */
static inline struct numbered_page *numbered_page(struct numbered *m, u64 number)
{
	u64 key = numbered_key(number), i;

	if (key == m->open.key)
		return &m->open;
	if (!m->n)
		return NULL;
	for (i = numbered_place(m, key); m->pages[i].key != key; i = (i + 1) & MASK(m->bits))
		if (!m->pages[i].key)
			return NULL;
	return &m->pages[i];
}

static inline struct numbered_slot *numbered_slot(const struct numbered_page *p, u64 number)
{
	return &p->v[number % NUMBERED_BLOCKS];
}

static inline u64 numbered_bit(u64 number)
{
	return 1ULL << number % NUMBERED_BLOCKS;
}

/* What the account has for the address of a block. */
static inline u64 numbered_address(u64 number)
{
	return number << 5;
}

static inline void numbered_put(struct numbered_page *p, u64 number, const struct block *b)
{
	*numbered_slot(p, number) =
		(struct numbered_slot){b->size, b->begin_ms | (u64)b->owner << OWNER_SHIFT};
	p->live |= numbered_bit(number);
	p->n++;
}

static inline struct block numbered_read(const struct numbered_page *p, u64 number)
{
	const struct numbered_slot *s = numbered_slot(p, number);

	return (struct block){numbered_address(number), s->bytes, s->what & MASK(OWNER_SHIFT),
		(u32)(s->what >> OWNER_SHIFT)};
}

static inline void numbered_remove(
	struct numbered *m, struct account *a, struct numbered_page *p, u64 number)
{
	p->live ^= numbered_bit(number);
	if (--p->n <= NUMBERED_FEW && p != &m->open)
		numbered_few(m, a, p);
}

/* Numbers rise. The others are as in account.h. */
static inline int numbered_alloc(struct numbered *m, struct account *a, u32 thread, u64 number,
	u64 size, u64 slack, u32 stack, bool moved, u64 now_ms)
{
	struct block b = {numbered_address(number), size, now_ms, 0};
	u64 key = numbered_key(number);
	u32 site;
	int rc = key == m->open.key ? 0 : numbered_begin(m, a, key);

	rc = rc ? rc : owner_get(a, thread, stack, &site, &b.owner);
	if (rc)
		return rc;
	numbered_put(&m->open, number, &b);
	sums_alloc(a, thread, site, &b, slack, moved, 1, false);
	return 0;
}

static inline void numbered_free(struct numbered *m, struct account *a, u32 thread, u64 number,
	u64 now_ms, struct account_moved *ret_moved)
{
	struct numbered_page *p = numbered_page(m, number);
	struct block b;

	if (!p || !(p->live & numbered_bit(number))) {
		account_free(a, thread, numbered_address(number), now_ms, ret_moved);
		return;
	}
	b = numbered_read(p, number);
	sums_free(a, thread, &b, now_ms, 1, false, ret_moved);
	numbered_remove(m, a, p, number);
}

/* It is gone, though no free of it was seen. */
void numbered_lose(struct numbered *m, struct account *a, u64 number);
/* As account_restore(). */
int numbered_restore(
	struct numbered *m, struct account *a, u32 thread, const struct account_moved *moved);
/* What it takes of memory, without the account. */
u64 numbered_bytes(const struct numbered *m);
void numbered_free_all(struct numbered *m);

#endif
