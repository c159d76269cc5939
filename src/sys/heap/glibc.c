/* See glibc.h. */
#include "sys/heap/glibc.h"

#include <errno.h>
#include <string.h>

#define PAGE 4096ULL
#define FASTBINS 10
#define BINS 127       /* pairs of pointers in malloc_state.bins */
#define EMPTY_LEAST 16 /* so many of them are empty in any process */
#define CHUNK_LEAST 32ULL
#define CHUNK_HEAD 48ULL /* sizeof(struct malloc_chunk): what mtrim() leaves of a free chunk */
#define SIZE_FLAGS 7ULL
#define PREV_INUSE 1ULL
#define CACHE_BINS 64
#define CACHE_CHUNK 0x290ULL /* of a tcache_perthread_struct, 2.30 to 2.41 */
#define CACHED_MOST 127      /* blocks of a size that a thread caches; glibc has 7 unless told */
#define FAST_MOST (1U << 18)
#define WINDOW 65536ULL

/* struct malloc_state */
struct state {
	u32 mutex, flags, have_fastchunks, pad;
	u64 fastbins[FASTBINS];
	u64 top, last_remainder;
	u64 bins[2 * BINS];
	u32 binmap[4];
	u64 next, next_free, attached_threads, system_mem, max_system_mem;
};

#define BINS_AT offsetof(struct state, bins)

/* struct heap_info: its first members */
struct heap {
	u64 arena, prev, size;
};

/* An empty bin points at itself, as if its two pointers were a chunk's. */
static bool bin_is_empty(const struct state *s, u64 address, u32 i)
{
	u64 self = address + BINS_AT + 16ULL * i - 16;

	return s->bins[2 * i] == self && s->bins[2 * i + 1] == self;
}

static bool state_is_sound(const struct state *s, u64 address)
{
	u32 empty = 0;

	for (u32 i = 0; i < BINS; i++) {
		empty += bin_is_empty(s, address, i);
		if (!s->bins[2 * i] || !s->bins[2 * i + 1])
			return false;
	}
	return empty >= EMPTY_LEAST && s->top && s->next && !(s->next & 7) &&
	       s->system_mem <= s->max_system_mem && s->system_mem < 1ULL << 47 &&
	       s->attached_threads < 1U << 22;
}

/* Quick to tell what is none: of bins of large blocks some are empty. */
static bool may_be_state(const struct state *s, u64 address)
{
	for (u32 i = BINS - 1; i >= BINS / 2; i--)
		if (bin_is_empty(s, address, i))
			return true;
	return false;
}

u64 glibc_find(const u64 *words, size_t n, u64 address)
{
	const size_t size = sizeof(struct state) / sizeof(u64);

	for (size_t i = 0; i + size <= n; i++) {
		const struct state *s = (const void *)&words[i];
		u64 at = address + i * sizeof(u64);

		if (may_be_state(s, at) && state_is_sound(s, at))
			return at;
	}
	return 0;
}

/* What is read of the heap, a window at a time. */
struct walk {
	struct glibc_memory *m;
	struct glibc_arenas *all;
	struct glibc_arena *a;
	u64 top;
	u64 at, n; /* of the window; n 0: there is none */
	u8 bytes[WINDOW];
};

/* A window that begins in the page of the address, as far as it is resident: else the page alone.
 */
static bool window_move(struct walk *w, u64 address)
{
	u64 start = address & ~(PAGE - 1);

	w->n = 0;
	if (!w->m->read(w->m->arg, start, w->bytes, WINDOW))
		w->n = WINDOW;
	else if (!w->m->read(w->m->arg, start, w->bytes, PAGE))
		w->n = PAGE;
	w->at = start;
	return w->n;
}

static bool word_read(struct walk *w, u64 address, u64 *ret)
{
	if ((!w->n || address < w->at || address + sizeof(*ret) > w->at + w->n) &&
		!window_move(w, address))
		return false;
	memcpy(ret, w->bytes + (address - w->at), sizeof(*ret));
	return true;
}

/* Is it the cache of a thread? Counts and lists agree, and some list has something. */
static bool cache_is_sound(const u16 *counts, const u64 *entries)
{
	bool any = false;

	for (u32 i = 0; i < CACHE_BINS; i++) {
		if (counts[i] > CACHED_MOST || !counts[i] != !entries[i] || entries[i] & 15)
			return false;
		any |= counts[i] > 0;
	}
	return any;
}

static void cache_look(struct walk *w, u64 chunk)
{
	struct {
		u16 counts[CACHE_BINS];
		u64 entries[CACHE_BINS];
	} c;

	if (w->m->read(w->m->arg, chunk + 16, &c, sizeof(c)) ||
		!cache_is_sound(c.counts, c.entries))
		return;
	for (u32 i = 0; i < CACHE_BINS; i++) {
		w->a->cache_blocks += c.counts[i];
		w->a->cache_bytes += c.counts[i] * (CHUNK_LEAST + 16ULL * i);
	}
}

/* Pages that lie in a free chunk as a whole. */
static u64 whole_pages(struct walk *w, u64 chunk, u64 end)
{
	u64 from = (chunk + CHUNK_HEAD + PAGE - 1) & ~(PAGE - 1), to = end & ~(PAGE - 1);

	return from < to ? w->m->resident(w->m->arg, from, to) : 0;
}

static void free_take(struct walk *w, u64 chunk, u64 size)
{
	u64 pages = whole_pages(w, chunk, chunk + size);

	w->a->free_blocks++;
	w->a->free_bytes += size;
	w->a->kept_bytes += pages;
	w->a->trimmable_bytes += pages;
}

static void used_take(struct walk *w, u64 chunk, u64 size)
{
	w->a->used_blocks++;
	w->a->used_bytes += size;
	if (size == CACHE_CHUNK)
		cache_look(w, chunk);
}

/* malloc_trim() shrinks the top of the main arena only. */
static void top_take(struct walk *w, u64 chunk, u64 size)
{
	u64 pages = whole_pages(w, chunk, chunk + size);

	w->a->top_bytes = size;
	w->a->kept_bytes += pages;
	if (w->a->is_main)
		w->a->trimmable_bytes += pages;
}

/* Chunk by chunk: that one is free, the next one says. What looks like no chunk ends it; at the end
 * of a heap that is not the last one, a fencepost does. */
static void heap_walk(struct walk *w, u64 chunk, u64 end)
{
	u64 size, next;

	if (!word_read(w, chunk + 8, &size)) {
		w->a->partial = true;
		return;
	}
	while (chunk < end) {
		size &= ~SIZE_FLAGS;
		if (chunk == w->top) {
			if (size > end - chunk)
				w->a->partial = true;
			else
				top_take(w, chunk, size);
			return;
		}
		if (size < CHUNK_LEAST)
			return; /* a fencepost */
		if (size & 15 || size >= end - chunk || !word_read(w, chunk + size + 8, &next)) {
			w->a->partial = true;
			return;
		}
		if (next & PREV_INUSE)
			used_take(w, chunk, size);
		else
			free_take(w, chunk, size);
		chunk += size;
		size = next;
	}
}

static bool size_is(struct glibc_memory *m, u64 chunk, u64 want)
{
	u64 size;

	return chunk && !(chunk & 15) && !m->read(m->arg, chunk + 8, &size, sizeof(size)) &&
	       (size & ~SIZE_FLAGS) == want;
}

/* Since 2.32 the pointer is mangled with its own address. 0: the end. */
static u64 fast_next(struct glibc_memory *m, u64 chunk, u64 want)
{
	u64 raw, plain;

	if (m->read(m->arg, chunk + 16, &raw, sizeof(raw)))
		return 0;
	plain = raw ^ (chunk + 16) >> 12;
	if (size_is(m, plain, want))
		return plain;
	return size_is(m, raw, want) ? raw : 0;
}

static void fast_read(struct glibc_memory *m, const struct state *s, struct glibc_arena *a)
{
	for (u32 i = 0; i < FASTBINS; i++) {
		u64 want = CHUNK_LEAST + 16ULL * i, chunk = s->fastbins[i];
		u32 n = 0;

		if (!size_is(m, chunk, want))
			continue;
		for (; chunk && n < FAST_MOST; n++)
			chunk = fast_next(m, chunk, want);
		a->fast_blocks += n;
		a->fast_bytes += n * want;
	}
}

/* The heaps of an arena that is not the main one, the last one first. */
static int heaps_walk(struct walk *w, const struct state *s)
{
	u64 at = s->top & ~(GLIBC_HEAP_BYTES - 1);
	int rc = 0;

	while (!rc && at && w->a->heaps < 65536) {
		bool first = at == (w->a->address & ~(GLIBC_HEAP_BYTES - 1));
		u64 head = (w->a->address & (GLIBC_HEAP_BYTES - 1)), chunk;
		struct heap h;

		if (w->m->read(w->m->arg, at, &h, sizeof(h)) || h.arena != w->a->address ||
			h.size > GLIBC_HEAP_BYTES || h.size < head || h.prev == at) {
			w->a->partial = true;
			return 0;
		}
		if (!w->a->heaps++) {
			w->a->heap_start = at;
			w->a->heap_end = at + h.size;
		}
		/* behind the arena, or in other heaps behind their head */
		chunk = first ? w->a->address + sizeof(*s) : at + head;
		heap_walk(w, (chunk + 15) & ~15ULL, at + h.size);
		rc = vec_push(&w->all->heaps, at);
		at = h.prev;
	}
	return rc;
}

static int arena_walk(struct walk *w, const struct state *s, u64 heap_start, struct glibc_arena *a)
{
	struct glibc_memory *m = w->m;
	u64 size;
	int rc = 0;

	w->a = a;
	w->top = s->top;
	w->n = 0;
	a->system_bytes = s->system_mem;
	if (!a->is_main) {
		rc = heaps_walk(w, s);
	} else if (s->system_mem && heap_start && s->top >= heap_start &&
		   !m->read(m->arg, s->top + 8, &size, sizeof(size))) {
		a->heaps = 1;
		a->heap_start = heap_start;
		a->heap_end = s->top + (size & ~SIZE_FLAGS);
		heap_walk(w, heap_start, a->heap_end);
	} else {
		a->partial = s->system_mem > 0;
	}
	fast_read(m, s, a);
	return rc;
}

void glibc_arenas_free(struct glibc_arenas *a)
{
	vec_free(&a->list);
	vec_free(&a->heaps);
}

/* All arenas, before any is walked: what may be read ends sooner in their blocks, and an arena that
 * is not walked any more is still there. */
static int arenas_find(struct glibc_memory *m, u64 main_arena, struct glibc_arenas *ret)
{
	u64 at = main_arena;
	int rc;

	do {
		struct glibc_arena a = {.address = at, .is_main = at == main_arena};
		struct state s;

		if (m->read(m->arg, at, &s, sizeof(s)) || !state_is_sound(&s, at))
			return ret->list.n ? 0 : -EBADMSG;
		a.system_bytes = s.system_mem;
		rc = vec_push(&ret->list, a);
		at = s.next;
	} while (!rc && at != main_arena && ret->list.n < GLIBC_ARENAS_MAX);
	return rc;
}

int glibc_read(struct glibc_memory *m, u64 main_arena, u64 heap_start, struct glibc_arenas *ret)
{
	_cleanup_free_ struct walk *w = malloc(sizeof(*w));
	int rc;

	ret->list.n = ret->heaps.n = 0;
	if (!w)
		return -ENOMEM;
	w->m = m;
	w->all = ret;
	rc = arenas_find(m, main_arena, ret);
	for (size_t i = 0; i < ret->list.n && !rc; i++) {
		struct glibc_arena *a = &ret->list.v[i];
		struct state s;

		if (m->read(m->arg, a->address, &s, sizeof(s)) || !state_is_sound(&s, a->address))
			a->partial = true;
		else
			rc = arena_walk(w, &s, heap_start, a);
	}
	return rc;
}
