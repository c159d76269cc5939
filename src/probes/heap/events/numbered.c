/* See numbered.h. */
#include "probes/heap/events/numbered.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FIRST_BITS 8 /* of places for pages */
#define YOUNG 256    /* newest pages, in which few are left as soon as many */
#define PAGE_BYTES (NUMBERED_BLOCKS * sizeof(struct numbered_slot))
#define ROOM_FIRST (64UL << 10) /* bytes */
#define ROOM_MOST (2UL << 20)   /* a huge page */

static int room_add(struct numbered *m)
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
static struct numbered_slot *slots_take(struct numbered *m)
{
	struct numbered_slot *v = m->spare;

	if (v) {
		m->spare = (struct numbered_slot *)v->bytes;
		return v;
	}
	if (m->room_used == m->room_bytes && room_add(m))
		return NULL;
	v = (struct numbered_slot *)(m->rooms.v[m->rooms.n - 1] + m->room_used);
	m->room_used += PAGE_BYTES;
	return v;
}

static void slots_give(struct numbered *m, struct numbered_slot *v)
{
	v->bytes = (u64)m->spare;
	m->spare = v;
}

/* In a free place. */
static void page_put(struct numbered *m, const struct numbered_page *p)
{
	u64 i = numbered_place(m, p->key);

	while (m->pages[i].key)
		i = (i + 1) & MASK(m->bits);
	m->pages[i] = *p;
}

static int pages_grow(struct numbered *m)
{
	struct numbered old = *m;
	u32 bits = m->bits ? m->bits + 1 : FIRST_BITS;
	struct numbered_page *pages = calloc(1UL << bits, sizeof(*pages));

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
static void page_drop(struct numbered *m, struct numbered_page *p)
{
	u64 mask = MASK(m->bits), gap = (u64)(p - m->pages);

	slots_give(m, p->v);
	for (u64 i = (gap + 1) & mask; m->pages[i].key; i = (i + 1) & mask) {
		u64 home = numbered_place(m, m->pages[i].key);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		m->pages[gap] = m->pages[i];
		gap = i;
	}
	m->pages[gap] = (struct numbered_page){};
	m->n--;
}

/* Its blocks go to the account's own table; they stay where there is no memory. */
static void page_empty(struct account *a, struct numbered_page *p)
{
	while (p->live) {
		u64 number = (p->key - 1) << NUMBERED_BITS | (u64)__builtin_ctzll(p->live);
		struct block b = numbered_read(p, number);

		if (block_room(a, b.address, b.size))
			return;
		block_put(a, live_at(&a->live, b.address), &b);
		p->live &= p->live - 1;
		p->n--;
	}
}

void numbered_few(struct numbered *m, struct account *a, struct numbered_page *p)
{
	if (m->open.key - p->key > YOUNG)
		page_empty(a, p);
	if (!p->n)
		page_drop(m, p);
}

/* The open page to the others, but for its places if none of them is in use. */
static int open_close(struct numbered *m)
{
	if (!m->open.n)
		return 0;
	if (m->n >= 1U << m->bits >> 1 && pages_grow(m))
		return -ENOMEM;
	page_put(m, &m->open);
	m->n++;
	m->open = (struct numbered_page){};
	return 0;
}

int numbered_begin(struct numbered *m, struct account *a, u64 key)
{
	struct numbered_page *old;

	if (open_close(m))
		return -ENOMEM;
	if (!m->open.v)
		m->open.v = slots_take(m);
	if (!m->open.v)
		return -ENOMEM;
	m->open.key = key;
	/* one that is young no more */
	old = key > YOUNG + 1 ? numbered_page(m, (key - YOUNG - 2) << NUMBERED_BITS) : NULL;
	if (old && old->n <= NUMBERED_FEW)
		numbered_few(m, a, old);
	return 0;
}

void numbered_lose(struct numbered *m, struct account *a, u64 number)
{
	struct numbered_page *p = numbered_page(m, number);
	struct block b;

	if (!p || !(p->live & numbered_bit(number))) {
		account_overwrite(a, numbered_address(number));
		return;
	}
	b = numbered_read(p, number);
	sums_gone(a, &b, 1, false);
	a->overwritten++;
	numbered_remove(m, a, p, number);
}

int numbered_restore(
	struct numbered *m, struct account *a, u32 thread, const struct account_moved *moved)
{
	u64 number = moved->address / numbered_address(1);
	struct block b = {moved->address, moved->size, moved->begin_ms, moved->owner};
	struct numbered_page *p = numbered_page(m, number);

	if (!p || !moved->counted)
		return account_restore(a, thread, moved);
	if (p->live & numbered_bit(number))
		return 0;
	numbered_put(p, number, &b);
	sums_restore(a, thread, &b, moved, 1, false);
	return 0;
}

u64 numbered_bytes(const struct numbered *m)
{
	return m->bytes + (m->bits ? sizeof(*m->pages) << m->bits : 0);
}

void numbered_free_all(struct numbered *m)
{
	vec_each (room, &m->rooms)
		free(*room);
	vec_free(&m->rooms);
	free(m->pages);
	*m = (struct numbered){};
}
