/*
 * Allocations and frees in their order, to few bytes and back. An event is a symbol: an allocation
 * is its stack, size and slack; a free names its block by its number in the order of allocation,
 * from the newest one back or from the last one freed on, whichever is nearer. A symbol is
 * predicted by what followed the last 8, 4 and 2 symbols of the same thread; a run that the first
 * of these predicts costs its length. Who does it, and when, changes seldom, and is told where it
 * changes. Knows neither rings nor records. Whoever reads trusts no byte.
 */
#ifndef MEMWHY_PROBES_HEAP_EVENTS_EVENT_CODE_H
#define MEMWHY_PROBES_HEAP_EVENTS_EVENT_CODE_H

#include "base/vec.h"

enum heap_event_what {
	HEAP_EVENT_ALLOC,
	HEAP_EVENT_MOVED,   /* an allocation, by realloc of the block that MOVE freed */
	HEAP_EVENT_FREE,    /* block 0: of one that was never allocated here */
	HEAP_EVENT_MOVE,    /* the same, by realloc; MOVED or RESTORE of the thread may follow */
	HEAP_EVENT_RESTORE, /* as if MOVE had not been */
	HEAP_EVENT_GONE,    /* its address is given out again, and no free was seen */
	HEAP_EVENT_THREAD,  /* there is one more, with the next number; only when read */
};

struct heap_event {
	u8 what;    /* enum heap_event_what */
	u32 thread; /* its number, in the order of their reports */
	u32 tid;    /* of THREAD */
	u32 stack;  /* of an allocation; at most HEAP_EVENT_STACK */
	u64 slack;  /* of an allocation: usable / 8 - size / 8 */
	u64 bytes;  /* of an allocation */
	u64 block;  /* in the order of allocation, from 1 on; told only of what frees */
	u64 ms;     /* at most HEAP_EVENT_MS, and never less than of the event before */
};

#define HEAP_EVENT_STACK ((1U << 22) - 1)
#define HEAP_EVENT_MS ((1ULL << 40) - 1) /* 34 years */

#define EVENT_ORDERS 3 /* 8, 4, 2 */
#define EVENT_LAST 8
#define EVENT_TABLE_BITS 16
#define EVENT_TABLE_FIRST_BITS 8

/* What a thread did last: each twice, so that the last ones stand in a row, wherever they end. */
struct event_context {
	u64 last[2 * EVENT_LAST];
	u32 n;
};

struct event_model {
	u64 *after[EVENT_ORDERS]; /* what followed, by hash of what came before */
	u32 bits;                 /* of the hash: tables grow with what they have seen */
	u64 symbols;
	VEC(struct event_context) threads;
	u32 thread; /* the present one */
	u64 ms;
	u64 blocks;     /* numbered so far */
	u64 last_freed; /* block */
};

/* What is alike stands together: see event_model.h. */
#define EVENT_COLUMNS 10
typedef VEC(u8) event_bytes;

struct event_coder {
	struct event_model model;
	event_bytes columns[EVENT_COLUMNS];
	u64 run;           /* predicted since the last that was not */
	u64 gap;           /* events since the last mark */
	u64 events, bytes; /* of this chunk */
	u64 events_before; /* it */
};

struct event_decoder {
	struct event_model model;
	const u8 *at[EVENT_COLUMNS], *end[EVENT_COLUMNS];
	u64 run, gap, left;
	u64 events_before; /* the next chunk */
};

/* A chunk is to be taken when it has so much: it then has at most EVENT_CHUNK_MAX bytes. */
#define EVENT_CHUNK_BYTES (48U << 10)
#define EVENT_CHUNK_MAX (EVENT_CHUNK_BYTES + 1024)
#define EVENT_CHUNK_EVENTS (1U << 20)

/* What it takes of memory. */
static inline u64 event_model_bytes(const struct event_model *m)
{
	return (EVENT_ORDERS * sizeof(u64) << m->bits) + m->threads.cap * sizeof(*m->threads.v);
}

int event_coder_init(struct event_coder *c);
/* There is one more thread. */
int event_coder_thread(struct event_coder *c, u32 tid);
/* Blocks must be numbered in order; a free must be of a known block, and its thread must have been
 * announced. 0 or -ENOMEM. */
int event_coder_put(struct event_coder *c, const struct heap_event *e);
static inline bool event_coder_is_full(const struct event_coder *c)
{
	return c->bytes >= EVENT_CHUNK_BYTES || c->events >= EVENT_CHUNK_EVENTS;
}
/* Is there anything to be taken? */
bool event_coder_has(const struct event_coder *c);
/* All since the last call, at the end of *to; to be compressed. 0 or -ENOMEM. The next chunk goes
 * on where this one ended: it is read after it. */
int event_coder_take(struct event_coder *c, event_bytes *to);
void event_coder_free(struct event_coder *c);

int event_decoder_init(struct event_decoder *d);
/* One chunk, borrowed. -EBADMSG: it is none. */
int event_decoder_chunk(struct event_decoder *d, const u8 *bytes, size_t n);
/* 1: an event; 0: the chunk ends; -EBADMSG: it is damaged; -ENOMEM. */
int event_decoder_next(struct event_decoder *d, struct heap_event *ret);
/* The same, of up to `most` events of one thread at one time, or of one that is THREAD: thread and
 * ms are given with the first one only. *ret_n, on failure too: how many there are. */
int event_decoder_run(struct event_decoder *d, struct heap_event *to, u32 most, u32 *ret_n);
void event_decoder_free(struct event_decoder *d);

#endif
