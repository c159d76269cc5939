/* See event_writer.h. */
#include "probes/heap/event_writer.h"

#include <stdlib.h>
#include <string.h>

#include "probes/heap/account_table.h"

#define FIRST_BITS 8

/* A live block; number 0: none. */
struct numbered {
	u64 address;
	u64 number;
};

/* Live blocks by address, in the order of account_slot(). */
struct numbers {
	struct numbered *v;
	u64 n, size; /* size: a power of two, or 0 */
	u32 shift;
};

/* What a thread freed last that may be undone. number 0: not a block, or undone. */
struct moving {
	u64 address, number;
	bool is; /* there is something to be undone */
};

struct event_writer {
	struct event_coder coder;
	struct numbers live;
	VEC(struct moving) moving; /* by thread */
	u32 process, image;
	event_bytes code;   /* of the chunk that ends */
	news_buffer chunks; /* complete */
};

static u64 slot_of(const struct numbers *t, u64 address)
{
	return account_slot_of(t->shift, address);
}

/* Where the address is, or would be put. The table has room. */
static struct numbered *numbers_at(const struct numbers *t, u64 address)
{
	u64 i = slot_of(t, address);

	while (t->v[i].number && t->v[i].address != address)
		i = (i + 1) & (t->size - 1);
	return &t->v[i];
}

static int numbers_grow(struct numbers *t)
{
	struct numbers grown = {.size = t->size ? 2 * t->size : 1UL << FIRST_BITS, .n = t->n};

	grown.v = calloc(grown.size, sizeof(*grown.v));
	if (!grown.v)
		return -ENOMEM;
	grown.shift = (u32)(64 - __builtin_ctzll(grown.size));
	for (u64 i = 0; i < t->size; i++)
		if (t->v[i].number)
			*numbers_at(&grown, t->v[i].address) = t->v[i];
	free(t->v);
	*t = grown;
	return 0;
}

/* Closes the gap, as account_table_remove() does. */
static void numbers_remove(struct numbers *t, struct numbered *b)
{
	u64 mask = t->size - 1, gap = (u64)(b - t->v);

	for (u64 i = (gap + 1) & mask; t->v[i].number; i = (i + 1) & mask) {
		u64 home = slot_of(t, t->v[i].address);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		t->v[gap] = t->v[i];
		gap = i;
	}
	t->v[gap].number = 0;
	t->n--;
}

/* The number of the block at an address, which is gone then; 0: there was none. */
static u64 number_take(struct numbers *t, u64 address)
{
	struct numbered *b = t->size ? numbers_at(t, address) : NULL;
	u64 number = b ? b->number : 0;

	if (number)
		numbers_remove(t, b);
	return number;
}

static int number_set(struct numbers *t, u64 address, u64 number)
{
	int rc = t->n >= t->size - t->size / 4 ? numbers_grow(t) : 0;

	if (rc)
		return rc;
	*numbers_at(t, address) = (struct numbered){address, number};
	t->n++;
	return 0;
}

int event_writer_open(u32 process, u32 image, struct event_writer **ret)
{
	struct event_writer *w = calloc(1, sizeof(*w));
	int rc = w ? event_coder_init(&w->coder) : -ENOMEM;

	if (rc) {
		event_writer_close(w);
		return rc;
	}
	w->process = process;
	w->image = image;
	*ret = w;
	return 0;
}

void event_writer_close(struct event_writer *w)
{
	if (!w)
		return;
	event_coder_free(&w->coder);
	free(w->live.v);
	vec_free(&w->moving);
	vec_free(&w->code);
	vec_free(&w->chunks);
	free(w);
}

/* The chunk as news. */
static int chunk_end(struct event_writer *w)
{
	u64 head[sizeof(struct news) / sizeof(u64) + 2], before = w->coder.events_before;
	size_t words;
	int rc;

	w->code.n = 0;
	rc = event_coder_take(&w->coder, &w->code);
	words = (w->code.n + sizeof(u64) - 1) / sizeof(u64);
	rc = rc ? rc : vec_reserve(&w->chunks, ARRAY_SIZE(head) + words);
	if (rc)
		return rc;
	memcpy(head,
		&(struct news){.kind = NEWS_EVENTS,
			.words = (u32)words + 2,
			.process = w->process,
			.image = w->image},
		sizeof(struct news));
	head[ARRAY_SIZE(head) - 2] = before;
	head[ARRAY_SIZE(head) - 1] = w->code.n;
	memcpy(w->chunks.v + w->chunks.n, head, sizeof(head));
	w->chunks.n += ARRAY_SIZE(head);
	if (words)
		w->chunks.v[w->chunks.n + words - 1] = 0; /* padding */
	memcpy(w->chunks.v + w->chunks.n, w->code.v, w->code.n);
	w->chunks.n += words;
	return 0;
}

static int event_put(struct event_writer *w, const struct heap_event *e)
{
	int rc = event_coder_put(&w->coder, e);

	return rc || !event_coder_is_full(&w->coder) ? rc : chunk_end(w);
}

int event_writer_thread(struct event_writer *w, u32 tid)
{
	struct moving none = {};
	int rc = vec_push(&w->moving, none);

	rc = rc ? rc : event_coder_thread(&w->coder, tid);
	return rc || !event_coder_is_full(&w->coder) ? rc : chunk_end(w);
}

int event_writer_alloc(struct event_writer *w, u32 thread, u64 address, u64 size, u64 slack,
	u32 stack, bool moved, u64 now_ms)
{
	struct heap_event e = {.thread = thread, .ms = now_ms, .what = HEAP_EVENT_GONE};
	int rc = 0;

	e.block = number_take(&w->live, address);
	if (e.block)
		rc = event_put(w, &e);
	e.what = moved ? HEAP_EVENT_MOVED : HEAP_EVENT_ALLOC;
	e.bytes = size;
	e.slack = slack;
	e.stack = stack;
	rc = rc ? rc : event_put(w, &e);
	return rc ? rc : number_set(&w->live, address, w->coder.model.blocks);
}

int event_writer_free(struct event_writer *w, u32 thread, u64 address, bool move, u64 now_ms)
{
	struct heap_event e = {
		.thread = thread,
		.ms = now_ms,
		.what = move ? HEAP_EVENT_MOVE : HEAP_EVENT_FREE,
		.block = number_take(&w->live, address),
	};

	if (move)
		w->moving.v[thread] = (struct moving){address, e.block, true};
	return event_put(w, &e);
}

/* Where the address was given out again meanwhile, there is nothing to be undone. */
int event_writer_restore(struct event_writer *w, u32 thread, u64 now_ms)
{
	struct heap_event e = {.thread = thread, .ms = now_ms, .what = HEAP_EVENT_RESTORE};
	struct moving m = w->moving.v[thread];
	int rc = 0;

	w->moving.v[thread].is = false;
	if (!m.is || (m.number && w->live.size && numbers_at(&w->live, m.address)->number))
		return 0;
	if (m.number)
		rc = number_set(&w->live, m.address, m.number);
	return rc ? rc : event_put(w, &e);
}

void event_writer_prefetch(const struct event_writer *w, u64 address)
{
	if (w->live.size)
		__builtin_prefetch(&w->live.v[slot_of(&w->live, address)], 1);
}

int event_writer_flush(struct event_writer *w, bool all, news_buffer *news)
{
	int rc = all && event_coder_has(&w->coder) ? chunk_end(w) : 0;

	if (rc || !w->chunks.n)
		return rc;
	rc = vec_reserve(news, w->chunks.n);
	if (rc)
		return rc;
	memcpy(news->v + news->n, w->chunks.v, w->chunks.n * sizeof(u64));
	news->n += w->chunks.n;
	vec_free(&w->chunks);
	return 0;
}
