/* See event_writer.h. */
#include "probes/heap/events/event_writer.h"

#include <stdlib.h>
#include <string.h>

#include "probes/heap/account/live_blocks.h"

/* What a thread freed last that may be undone. number 0: not a block, or undone. */
struct moving {
	u64 address, number;
	bool is; /* there is something to be undone */
};

struct event_writer {
	struct event_coder coder;
	struct live live;          /* numbers of the live blocks */
	VEC(struct moving) moving; /* by thread */
	u32 process, program;
	event_bytes code;   /* of the chunk that ends */
	news_buffer chunks; /* complete */
};

/* The number of the block at an address, which is gone then; 0: there was none. */
static u64 number_take(struct live *l, u64 address)
{
	struct live_slot *at = live_find(l, address);
	u64 number = at ? at->what : 0;

	if (at)
		live_remove(l, at);
	return number;
}

/* Of a block at an address where none is. */
static int number_set(struct live *l, u64 address, u64 number)
{
	int rc = live_room(l, address, NULL);

	if (!rc)
		live_put(l, live_at(l, address), address, 0, number);
	return rc;
}

int event_writer_open(u32 process, u32 program, struct event_writer **ret)
{
	struct event_writer *w = calloc(1, sizeof(*w));
	int rc = w ? event_coder_init(&w->coder) : -ENOMEM;

	if (rc) {
		event_writer_close(w);
		return rc;
	}
	w->process = process;
	w->program = program;
	*ret = w;
	return 0;
}

void event_writer_close(struct event_writer *w)
{
	if (!w)
		return;
	event_coder_free(&w->coder);
	live_free(&w->live);
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
			.program = w->program},
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
	if (!m.is || (m.number && live_find(&w->live, m.address)))
		return 0;
	if (m.number)
		rc = number_set(&w->live, m.address, m.number);
	return rc ? rc : event_put(w, &e);
}

void event_writer_prefetch(const struct event_writer *w, u64 address)
{
	live_prefetch(&w->live, address);
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
