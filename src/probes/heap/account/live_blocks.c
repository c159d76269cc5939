/* See live.h. */
#include "probes/heap/account/live_blocks.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST 64U           /* slots */
#define SMALL (32U << 10)   /* slots of a part: up to here it doubles */
#define MAPPED (64UL << 10) /* bytes: from here on pages of its own, which are given back */
#define HUGE (2UL << 20)    /* bytes */
#define BEAT_MASK 0xffff    /* of slots: a beat each */

static u64 live_blocks_bytes_of(u64 slots)
{
	return slots * sizeof(struct live_slot);
}

/* The pages of the spare, and some more: most of what a new page costs is to be given it. */
static struct live_slot *spare_take(struct live *l, u64 bytes)
{
	void *v = mremap(l->spare, l->spare_bytes, bytes, MREMAP_MAYMOVE);

	if (v == MAP_FAILED)
		return NULL;
	memset(v, 0, MIN(l->spare_bytes, bytes));
	l->spare = NULL;
	return v;
}

static struct live_slot *slots_new(struct live *l, u64 n)
{
	u64 bytes = live_blocks_bytes_of(n);
	void *v;

	if (bytes < MAPPED)
		return calloc(n, sizeof(struct live_slot));
	v = l->spare ? spare_take(l, bytes) : NULL;
	if (!v)
		v = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE)
		madvise(v, bytes, MADV_HUGEPAGE);
	/* All are about to be written to; a fault for each costs more. Since 5.14. */
	madvise(v, bytes, MADV_POPULATE_WRITE);
	return v;
}

static void slots_free(struct live *l, struct live_slot *v, u64 n)
{
	if (live_blocks_bytes_of(n) < MAPPED) {
		free(v);
	} else if (l->spare) {
		munmap(v, live_blocks_bytes_of(n));
	} else {
		l->spare = v;
		l->spare_bytes = live_blocks_bytes_of(n);
	}
}

/* A small table may as well be half empty. */
static u64 size_next(u32 size)
{
	return size < SMALL ? MAX(2 * size, FIRST)
			    : ((u64)size + size / 4 + LIVE_NEAR - 1) & ~(u64)(LIVE_NEAR - 1);
}

int live_grow(struct live *l, u64 address, u32 *beat)
{
	u32 at;
	struct live_part *p = live_part(l, address, &at), old = *p;
	u64 size = size_next(old.size);
	struct live_slot *v = size <= UINT32_MAX ? slots_new(l, size) : NULL;

	if (!v) /* the last places, but one that is free, as every search ends there */
		return p->n + 1 < p->size ? 0 : -ENOMEM;
	p->v = v;
	p->size = (u32)size;
	for (u32 i = 0; i < old.size; i++) {
		if (beat && !(i & BEAT_MASK))
			__atomic_add_fetch(beat, 1, __ATOMIC_RELAXED);
		if (old.v[i].where)
			*live_at(l, live_address(&old.v[i])) = old.v[i];
	}
	slots_free(l, old.v, old.size);
	return 0;
}

/* How far it is from slot a on to slot b. */
static inline u32 distance(const struct live_part *p, u32 a, u32 b)
{
	return b >= a ? b - a : b + p->size - a;
}

/* Closes the gap: what follows moves up as far as it may. */
void live_remove(struct live *l, struct live_slot *s)
{
	u32 home;
	struct live_part *p = live_part(l, live_address(s), &home);
	u32 gap = (u32)(s - p->v);

	for (u32 i = live_after(p, gap); p->v[i].where; i = live_after(p, i)) {
		live_part(l, live_address(&p->v[i]), &home);
		if (distance(p, home, i) < distance(p, gap, i))
			continue;
		p->v[gap] = p->v[i];
		gap = i;
	}
	p->v[gap].where = 0;
	p->n--;
	l->n--;
}

u64 live_bytes(const struct live *l)
{
	u64 bytes = l->spare ? l->spare_bytes : 0;

	for (u32 i = 0; i < LIVE_PARTS; i++)
		bytes += live_blocks_bytes_of(l->parts[i].size);
	return bytes;
}

void live_free(struct live *l)
{
	for (u32 i = 0; i < LIVE_PARTS; i++)
		slots_free(l, l->parts[i].v, l->parts[i].size);
	if (l->spare)
		munmap(l->spare, l->spare_bytes);
	*l = (struct live){};
}
