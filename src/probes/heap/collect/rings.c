/* See rings.h. */
#include "probes/heap/collect/rings.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"

#define READY_LEAST 2
#define KEPT_SLOTS 32    /* whose first rings keep their pages: others come soon */
#define LARGE_LEAVES 64  /* chunks for those that come later */
#define LARGE_THREADS 16 /* where there are more, all get the same */

static void rings_pages_take(const struct rings *r, u64 from, u64 to)
{
	if (fallocate(r->file, 0, (off_t)from, (off_t)(to - from)))
		return; /* no memory for us: then the program's first writes take it */
}

static u32 chunks_take(struct rings *r, u32 n)
{
	for (u32 chunk = 0; chunk + n <= TRACK_CHUNKS; chunk += n) {
		if (memchr(&r->taken[chunk], true, n))
			continue;
		memset(&r->taken[chunk], true, n);
		r->free -= n;
		rings_pages_take(r, track_ring_offset(0, track_grown(chunk, n)),
			track_ring_offset(0, track_grown(chunk + n, n)));
		return track_grown(chunk, n);
	}
	return 0;
}

void rings_begin(struct rings *r, struct track_head *head, int file, bool large)
{
	*r = (struct rings){.head = head, .file = file, .free = TRACK_CHUNKS};
	rings_pages_take(r, 0, TRACK_PAGE);
	r->main = head->slot[0].grown = chunks_take(r, large ? TRACK_GROWN_CHUNKS : 1);
	rings_prepare(r, 0);
}

void rings_prepare(struct rings *r, u32 threads)
{
	u32 ready = MIN(2 * threads + READY_LEAST, (u32)TRACK_SLOTS);
	const u64 slots = offsetof(struct track_head, slot);

	r->threads = threads;
	if (ready <= r->ready)
		return;
	rings_pages_take(r, slots + r->ready * sizeof(struct track_slot),
		slots + ready * sizeof(struct track_slot));
	rings_pages_take(r, track_first_offset(r->ready), track_first_offset(ready));
	r->ready = ready;
}

u32 rings_take(struct rings *r, u32 slot, u32 grown)
{
	u64 words = track_words(slot, grown);
	u32 large = 0;

	if (words < TRACK_GROWN_CHUNKS * TRACK_CHUNK_WORDS && r->threads <= LARGE_THREADS &&
		r->free >= TRACK_GROWN_CHUNKS + LARGE_LEAVES)
		large = chunks_take(r, TRACK_GROWN_CHUNKS);
	return large || words >= TRACK_CHUNK_WORDS ? large : chunks_take(r, 1);
}

void rings_release(struct rings *r, u32 slot, u32 grown)
{
	char *at = (char *)r->head + track_ring_offset(slot, grown);
	u64 bytes = track_words(slot, grown) * sizeof(u64);
	bool keep = !grown && slot < KEPT_SLOTS;

	if (keep || madvise(at, bytes, MADV_REMOVE))
		memset(at, 0, bytes);
	else if (!grown)
		r->ready = MIN(r->ready, slot);
	if (!grown)
		return;
	memset(&r->taken[track_grown_chunk(grown)], false, track_grown_n(grown));
	r->free += track_grown_n(grown);
}
