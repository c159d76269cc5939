/* See replay_blocks.h. */
#include "probes/heap/events/replay_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FIRST_BITS 8 /* of places for pages */
#define YOUNG 256    /* newest pages, in which few are left as soon as many */
#define PAGE_BYTES (NUMBERED_BLOCKS * sizeof(struct replay_slot))
#define ROOM_FIRST (64UL << 10) /* bytes */
#define ROOM_MOST (2UL << 20)   /* a huge page */

static int room_add(struct replay_blocks *m)
{
	u64 bytes = m->room_bytes ? MIN(2 * m->room_bytes, ROOM_MOST) : ROOM_FIRST;
	char *room = aligned_alloc(bytes, bytes);

	if (!room || vec_push(&m->rooms, room)) {
		free(room);
		return -ENOMEM;
	}
	if (bytes == ROOM_MOST)
		madvise(room, bytes, MADV_HUGEPAGE);
	m->room_bytes = bytes;
	m->room_used = 0;
	m->bytes += bytes;
	return 0;
}

/* Places for a page; NULL: no memory. */
static struct replay_slot *slots_take(struct replay_blocks *m)
{
	struct replay_slot *v = m->spare;

	if (v) {
		m->spare = (struct replay_slot *)v->bytes;
		return v;
	}
	if (m->room_used == m->room_bytes && room_add(m))
		return NULL;
	v = (struct replay_slot *)(m->rooms.v[m->rooms.n - 1] + m->room_used);
	m->room_used += PAGE_BYTES;
	return v;
}

static void slots_give(struct replay_blocks *m, struct replay_slot *v)
{
	v->bytes = (u64)m->spare;
	m->spare = v;
}

/* In a free place. */
static void page_put(struct replay_blocks *m, const struct replay_page *p)
{
	u64 i = replay_blocks_place(m, p->key);

	while (m->pages[i].key)
		i = (i + 1) & MASK(m->bits);
	m->pages[i] = *p;
}

static int pages_grow(struct replay_blocks *m)
{
	struct replay_blocks old = *m;
	u32 bits = m->bits ? m->bits + 1 : FIRST_BITS;
	struct replay_page *pages = calloc(1UL << bits, sizeof(*pages));

	if (!pages)
		return -ENOMEM;
	m->pages = pages;
	m->bits = bits;
	for (u64 i = 0; old.bits && i < 1UL << old.bits; i++)
		if (old.pages[i].key)
			page_put(m, &old.pages[i]);
	free(old.pages);
	return 0;
}

/* Closes the gap: what follows moves up as far as it may. */
static void page_drop(struct replay_blocks *m, struct replay_page *p)
{
	u64 mask = MASK(m->bits), gap = (u64)(p - m->pages);

	slots_give(m, p->v);
	for (u64 i = (gap + 1) & mask; m->pages[i].key; i = (i + 1) & mask) {
		u64 home = replay_blocks_place(m, m->pages[i].key);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		m->pages[gap] = m->pages[i];
		gap = i;
	}
	m->pages[gap] = (struct replay_page){};
	m->n--;
}

/* Its blocks go to the account's own table; they stay where there is no memory. */
static void page_empty(struct account *a, struct replay_page *p)
{
	while (p->live) {
		u64 number = (p->key - 1) << NUMBERED_BITS | (u64)__builtin_ctzll(p->live);
		struct block b = replay_blocks_read(p, number);

		if (block_room(a, b.address, b.size))
			return;
		block_put(a, live_at(&a->live, b.address), &b);
		p->live &= p->live - 1;
		p->n--;
	}
}

void replay_blocks_few(struct replay_blocks *m, struct account *a, struct replay_page *p)
{
	if (m->open.key - p->key > YOUNG)
		page_empty(a, p);
	if (!p->n)
		page_drop(m, p);
}

/* The open page to the others, but for its places if none of them is in use. */
static int open_close(struct replay_blocks *m)
{
	if (!m->open.n)
		return 0;
	if (m->n >= 1U << m->bits >> 1 && pages_grow(m))
		return -ENOMEM;
	page_put(m, &m->open);
	m->n++;
	m->open = (struct replay_page){};
	return 0;
}

int replay_blocks_begin(struct replay_blocks *m, struct account *a, u64 key)
{
	struct replay_page *old;

	if (open_close(m))
		return -ENOMEM;
	if (!m->open.v)
		m->open.v = slots_take(m);
	if (!m->open.v)
		return -ENOMEM;
	m->open.key = key;
	/* one that is young no more */
	old = key > YOUNG + 1 ? replay_blocks_page(m, (key - YOUNG - 2) << NUMBERED_BITS) : NULL;
	if (old && old->n <= NUMBERED_FEW)
		replay_blocks_few(m, a, old);
	return 0;
}

void replay_blocks_lose(struct replay_blocks *m, struct account *a, u64 number)
{
	struct replay_page *p = replay_blocks_page(m, number);
	struct block b;

	if (!p || !(p->live & replay_blocks_bit(number))) {
		account_overwrite(a, replay_blocks_address(number));
		return;
	}
	b = replay_blocks_read(p, number);
	sums_gone(a, &b, 1, false);
	a->overwritten++;
	replay_blocks_remove(m, a, p, number);
}

int replay_blocks_restore(
	struct replay_blocks *m, struct account *a, u32 thread, const struct account_moved *moved)
{
	u64 number = moved->address / replay_blocks_address(1);
	struct block b = {moved->address, moved->size, moved->begin_ms, moved->owner};
	struct replay_page *p = replay_blocks_page(m, number);

	if (!p || !moved->counted)
		return account_restore(a, thread, moved);
	if (p->live & replay_blocks_bit(number))
		return 0;
	replay_blocks_put(p, number, &b);
	sums_restore(a, thread, &b, moved, 1, false);
	return 0;
}

u64 replay_blocks_bytes(const struct replay_blocks *m)
{
	return m->bytes + (m->bits ? sizeof(*m->pages) << m->bits : 0);
}

void replay_blocks_free_all(struct replay_blocks *m)
{
	vec_each (room, &m->rooms)
		free(*room);
	vec_free(&m->rooms);
	free(m->pages);
	*m = (struct replay_blocks){};
}
