/* See ring_reader.h: the rings of a process in the order of their times. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "probes/heap/collect/ring_reader.h"

/* What comes next, in order: a heap with the earliest on top. */
struct next {
	u64 time;
	struct ring_reader *reader;
};

static void heap_down(struct next *heap, size_t n)
{
	struct next top = heap[0];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && heap[child + 1].time < heap[child].time)
			child++;
		if (heap[child].time >= top.time)
			break;
		heap[i] = heap[child];
	}
	heap[i] = top;
}

static size_t heap_make(struct ring_reader *const *readers, size_t n, struct next *heap)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		u64 time = ring_reader_time(readers[i]);
		size_t at = used;

		if (time == CURSOR_NO_LIMIT)
			continue;
		used++;
		for (; at && heap[(at - 1) / 2].time > time; at = (at - 1) / 2)
			heap[at] = heap[(at - 1) / 2];
		heap[at] = (struct next){time, readers[i]};
	}
	return used;
}

static int merge(
	struct ring_reader *const *readers, size_t n, u64 until, u64 now_ms, news_buffer *news)
{
	_cleanup_free_ struct next *heap = calloc(n, sizeof(*heap));
	size_t used;
	int rc = 0;

	if (!heap)
		return -ENOMEM;
	used = heap_make(readers, n, heap);
	while (used && heap[0].time <= until && !rc) {
		struct ring_reader *c = heap[0].reader;
		u64 other = used > 1 ? heap[1].time : until;

		if (used > 2)
			other = MIN(other, heap[2].time);
		rc = ring_reader_run(c, MIN(other, until), now_ms, news);
		heap[0].time = ring_reader_time(c);
		if (heap[0].time == CURSOR_NO_LIMIT)
			heap[0] = heap[--used];
		heap_down(heap, used);
	}
	return rc;
}

s64 ring_readers_read_until(
	struct ring_reader *const *readers, size_t n, u64 until, u64 now_ms, news_buffer *news)
{
	u64 before = 0, after = 0;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		before += readers[i]->tail;
		ring_reader_turn(readers[i]);
		ring_reader_unblock(readers[i], until == CURSOR_NO_LIMIT - 1);
	}
	if (n == 1)
		rc = ring_reader_run(readers[0], until, now_ms, news);
	else if (n)
		rc = merge(readers, n, until, now_ms, news);
	for (size_t i = 0; i < n; i++)
		after += readers[i]->tail;
	return rc ? rc : (s64)(after - before);
}

int ring_readers_finish(struct ring_reader *const *readers, size_t n, u64 now_ms, news_buffer *news)
{
	s64 words;

	do
		words = ring_readers_read_until(readers, n, CURSOR_NO_LIMIT - 1, now_ms, news);
	while (words > 0);
	return (int)words;
}
