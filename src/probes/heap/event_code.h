/*
 * Allocations and frees in their order as few bytes, and back. An event is a symbol: an allocation
 * is its stack and size, a free tells its block by its number in the order of allocation, from the
 * newest one back or from the last one freed on, whichever is nearer. A symbol is predicted by what
 * followed the last 8, 4 and 2 symbols; a run that the first of these predicts costs its length.
 * Knows neither rings nor records. Whoever reads trusts no byte.
 */
#ifndef MEMWHY_PROBES_HEAP_EVENT_CODE_H
#define MEMWHY_PROBES_HEAP_EVENT_CODE_H

#include "base/vec.h"

struct heap_event {
	u64 block; /* in the order of allocation, from 1 on */
	u64 bytes; /* of an allocation; at most HEAP_EVENT_BYTES */
	u32 stack; /* of an allocation; at most HEAP_EVENT_STACK */
	bool free;
};

#define HEAP_EVENT_BYTES ((1ULL << 40) - 1)
#define HEAP_EVENT_STACK ((1U << 22) - 1)

#define EVENT_ORDERS 3 /* 8, 4, 2 */
#define EVENT_LAST 8
#define EVENT_TABLE_BITS 16

struct event_model {
	u64 *after[EVENT_ORDERS]; /* what followed, by hash of what came before */
	u64 *at[EVENT_ORDERS];    /* of these, for the symbol to come */
	u64 last[EVENT_LAST];
	u32 n;
	u64 blocks;     /* numbered so far */
	u64 last_freed; /* block */
};

/* What is alike stands together: see event_code.c. */
#define EVENT_COLUMNS 7
typedef VEC(u8) event_bytes;

struct event_coder {
	struct event_model model;
	event_bytes columns[EVENT_COLUMNS];
	u64 run, events;
};

struct event_decoder {
	struct event_model model;
	const u8 *at[EVENT_COLUMNS], *end[EVENT_COLUMNS];
	u64 run, left;
};

int event_coder_init(struct event_coder *c);
/* Blocks have to be numbered in their order, and a free is of one that was. 0 or -ENOMEM. */
int event_coder_put(struct event_coder *c, const struct heap_event *e);
/* All since the last call, at the end of *to; to be compressed. 0 or -ENOMEM. The next chunk goes
 * on where this one ended: it is read after it. */
int event_coder_take(struct event_coder *c, event_bytes *to);
void event_coder_free(struct event_coder *c);

int event_decoder_init(struct event_decoder *d);
/* One chunk, borrowed. -EBADMSG: it is none. */
int event_decoder_chunk(struct event_decoder *d, const u8 *bytes, size_t n);
/* 1: an event; 0: the chunk ends; -EBADMSG: it is damaged. */
int event_decoder_next(struct event_decoder *d, struct heap_event *ret);
void event_decoder_free(struct event_decoder *d);

#endif
