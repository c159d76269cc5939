/* See heaps.h. */
#include "sys/heap/heaps.h"

#include <string.h>

#define PAGE 4096ULL
#define SPACE_MOST (1ULL << 47)

bool heap_tcmalloc_find(const u64 *words, size_t n, struct heap_tcmalloc *ret)
{
	for (size_t i = 0; i + 11 <= n; i++) {
		const u64 *w = words + i;

		/* scavenges, commits, commits' bytes, decommits, decommits' bytes, reserves */
		if (!w[0] || w[0] % PAGE || w[0] != w[10] || w[2] + w[3] != w[0] || w[3] > w[0] ||
			!w[5] || w[1] > w[3] || w[3] != w[6] - w[8] || !w[9] || w[9] > w[0] / PAGE)
			continue;
		*ret = (struct heap_tcmalloc){w[0], w[1], w[2], w[3]};
		return true;
	}
	return false;
}

/* What the runtime has beside its heap. */
#define GO_OTHERS (64ULL << 20)

static bool go_is_sound(const u64 *w, u64 mapped)
{
	u64 ready = w[5] + w[1];

	/* stacks are no heap, but are in its mappings */
	return w[0] && w[0] % 8192 == 0 && w[1] % PAGE == 0 && w[2] % PAGE == 0 && w[0] <= mapped &&
	       w[1] <= mapped && w[2] <= mapped && w[0] + w[1] + w[2] <= mapped && w[3] > w[4] &&
	       w[3] - w[4] <= w[0] && w[5] <= SPACE_MOST && ready >= mapped &&
	       ready <= mapped + mapped / 2 + GO_OTHERS;
}

bool heap_go_find(const u64 *words, size_t n, u64 mapped_bytes, struct heap_go *ret)
{
	u64 most = ret->used_bytes + ret->released_bytes + ret->free_bytes;
	bool found = false;

	for (size_t i = 0; i + 6 <= n; i++) {
		const u64 *w = words + i;

		if (!go_is_sound(w, mapped_bytes) || w[0] + w[1] + w[2] <= most)
			continue;
		most = w[0] + w[1] + w[2];
		*ret = (struct heap_go){w[0], w[1], w[2], w[3] - w[4]};
		found = true;
	}
	return found;
}

/* struct pool_header */
struct pool {
	u32 count, pad;
	u64 free, next, prev;
	u32 arena, size_index, next_offset, last_offset;
};

bool heap_python_pool(const void *head, struct heap_python *ret)
{
	struct pool p;

	memcpy(&p, head, sizeof(p));
	for (u32 bytes = 4096; bytes <= 16384; bytes *= 4) {
		u32 size = bytes - p.last_offset;

		if (p.last_offset >= bytes || !size || size > 512 || p.size_index > 63 ||
			(size != (p.size_index + 1) * 16 && size != (p.size_index + 1) * 8) ||
			p.next_offset < sizeof(p) || p.next_offset > bytes ||
			p.count > (bytes - sizeof(p)) / size || p.free % 8 || p.arena >> 24)
			continue;
		*ret = (struct heap_python){bytes, p.arena, size, p.count};
		return true;
	}
	return false;
}

/* mi_segment_t of 2.0: where what matters begins; and mi_slice_t. */
#define MI_USED 26
#define MI_SLICES 33
#define MI_SLICE 10
#define MI_HUGE (1U << 31)

struct slice {
	u32 slices, offset;
	u8 flags, more;
	u16 capacity, reserved, bits;
	u64 free;
	u32 used, block_bytes;
};

bool heap_mimalloc_segment(const u64 *words, size_t n, struct heap_mimalloc *ret)
{
	u64 slices = words[MI_USED + 2], own = words[MI_USED + 3], entries = words[MI_USED + 5];
	struct heap_mimalloc sum = {.bytes = slices * HEAP_MIMALLOC_SLICE};
	u64 pages = 0;

	if (!slices || slices > 1U << 26 || !own || own > 8 || own >= slices ||
		(u32)words[MI_USED + 4] > 1 || !entries || entries > HEAP_MIMALLOC_SLICES ||
		words[MI_USED] > entries || n < MI_SLICES + MI_SLICE * entries)
		return false;
	for (u64 i = own; i < entries;) {
		struct slice s;

		memcpy(&s, words + MI_SLICES + MI_SLICE * i, sizeof(s));
		if (!s.slices || s.slices > slices - i || s.offset)
			return false;
		if (s.block_bytes && s.used > s.capacity)
			return false;
		if (s.block_bytes)
			sum.used_bytes += s.block_bytes < MI_HUGE ? (u64)s.used * s.block_bytes
								  : s.slices * HEAP_MIMALLOC_SLICE;
		if (!s.block_bytes || !s.used)
			memset(sum.idle + i, 1, MIN(s.slices, HEAP_MIMALLOC_SLICES - i));
		pages += s.block_bytes > 0;
		i += s.slices;
	}
	/* those that are abandoned are in use too */
	if (pages != words[MI_USED] || sum.used_bytes > sum.bytes)
		return false;
	*ret = sum;
	return true;
}

#define V8_FROM (1U << 3)
#define V8_TO (1U << 4)

bool heap_v8_chunk(const u64 *w, u64 address, struct heap_v8 *ret)
{
	/* size, flags, heap, where its objects begin and end, bytes allocated */
	if (w[0] < PAGE || w[0] % PAGE || w[0] >> 40 || !w[2] || w[2] % 8 || w[2] >> 47 ||
		w[3] <= address || w[3] - address > 4 * PAGE || w[4] < w[3] ||
		w[4] > address + w[0] || w[5] > w[4] - w[3])
		return false;
	*ret = (struct heap_v8){w[0], w[5], w[1] & (V8_FROM | V8_TO)};
	return true;
}

/* arena_t of 5.3: where what matters is. An eset ends with the sizes of its bins, the head of a
 * list, its pages and its state. */
#define JE_ACTIVE 10656
#define JE_SPACING 19440
#define JE_SIZES 200
#define JE_DECAY 69440
#define JE_BINS 79064
#define JE_BIN 224

static const u16 je_classes[] = {8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
	448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144,
	7168, 8192, 10240, 12288, 14336};

bool heap_jemalloc_may_be(const u64 *two)
{
	return two[0] < SPACE_MOST / PAGE && (u32)two[1] == 1;
}

/* Pages of a list of extents, as its bins have them. state: 1 dirty, 2 muzzy, 3 retained. */
static bool je_extents(const u64 *words, u32 state, u64 *ret)
{
	const u64 *w = words + (HEAP_JEMALLOC_DIRTY + (state - 1) * JE_SPACING) / 8;
	u64 bytes = 0;

	for (u32 i = 0; i < JE_SIZES; i++)
		bytes += w[-2 - 2 * (s64)i];
	*ret = bytes;
	return w[0] < SPACE_MOST / PAGE && bytes == w[0] * PAGE && (u32)w[1] == state;
}

static u64 je_slab_bytes(u64 size)
{
	u64 bytes = PAGE;

	while (bytes % size)
		bytes += PAGE;
	return bytes;
}

/* What is no slab is large blocks. */
static bool je_bins(const u64 *words, struct heap_jemalloc *a)
{
	u64 small = 0, slabs = 0;

	for (u32 i = 0; i < ARRAY_SIZE(je_classes); i++) {
		/* ever, freed, asked for, now, fills, flushes, slabs ever, again, now */
		const u64 *w = words + (JE_BINS + i * JE_BIN) / 8;
		u64 slab = je_slab_bytes(je_classes[i]);

		if (w[0] - w[1] != w[3] || w[8] > w[6] || w[8] > SPACE_MOST / PAGE ||
			w[3] > w[8] * (slab / je_classes[i]))
			return false;
		small += w[3] * je_classes[i];
		slabs += w[8] * slab;
	}
	a->used_bytes = small + a->active_bytes - slabs;
	return slabs <= a->active_bytes;
}

/* A period and, a 200th of it, the time between two steps. */
static s64 je_decay(const u64 *words)
{
	const u64 *w = words + JE_DECAY / 8;
	bool sound = w[0] + 1 <= 1 || (w[0] < 1ULL << 40 && w[0] * 5000 == w[1]);

	return sound ? (s64)w[0] : HEAP_JEMALLOC_UNKNOWN;
}

bool heap_jemalloc_arena(const u64 *words, size_t n, struct heap_jemalloc *ret)
{
	struct heap_jemalloc a = {};

	if (n < HEAP_JEMALLOC_ARENA / 8 || !je_extents(words, 1, &a.dirty_bytes) ||
		!je_extents(words, 2, &a.muzzy_bytes) || !je_extents(words, 3, &a.retained_bytes) ||
		words[JE_ACTIVE / 8] > SPACE_MOST / PAGE)
		return false;
	a.active_bytes = words[JE_ACTIVE / 8] * PAGE;
	if (!je_bins(words, &a))
		return false;
	a.decay_ms = je_decay(words);
	*ret = a;
	return true;
}
