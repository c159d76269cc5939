/*
 * Private to the coder and the decoder of events: what both know about a symbol, and what they
 * expect next. See event_code.h.
 *
 * A symbol in 64 bits: what it is in the lowest three (enum symbol_kind); of an allocation its
 * stack (22), slack (9) and size (30) above them, of a free the distance to its block. A size or
 * slack that is too large for its bits has all of them set, and stands in a column of its own.
 *
 * A chunk: number of events, then the bytes of each column, as numbers of seven bits a byte; then
 * the columns:
 *   RUN    how many events the first order predicts; then one that it does not, which HOW tells
 *   HOW    1, 2: what the second or third order predicts; 3 and more: a symbol of kind HOW - 3
 *   STACK, SIZE, SLACK, BACK, FORTH   what is above the kind of such a symbol
 *   BIG    sizes and slacks that are too large, of predicted symbols too
 *   GAP    how many events to the next mark
 *   MARK   lowest two bits: 0 later by so many ms; 1 the events are of this thread from here on;
 *          2 there is one more thread, of this tid
 */
#ifndef MEMWHY_PROBES_HEAP_EVENTS_EVENT_MODEL_H
#define MEMWHY_PROBES_HEAP_EVENTS_EVENT_MODEL_H

#include <stdint.h>

#include "probes/heap/events/event_code.h"

enum column { RUN, HOW, STACK, SIZE, SLACK, BACK, FORTH, BIG, GAP, MARK, COLUMNS };

_Static_assert(COLUMNS == EVENT_COLUMNS, "columns");

enum mark { MARK_LATER, MARK_THREAD, MARK_NEW_THREAD };

enum symbol_kind {
	SYMBOL_FREE_BACK,
	SYMBOL_FREE_FORTH,
	SYMBOL_MOVE_BACK,
	SYMBOL_MOVE_FORTH,
	SYMBOL_ALLOC,
	SYMBOL_MOVED,
	SYMBOL_OTHER, /* 0, 1: FREE, MOVE of what is not known; 2: RESTORE; else GONE, back */
	SYMBOL_KINDS,
};

#define KIND_BITS 3
#define STACK_SHIFT KIND_BITS
#define STACK_BITS 22
#define SLACK_SHIFT (STACK_SHIFT + STACK_BITS)
#define SLACK_BITS 9
#define SIZE_SHIFT (SLACK_SHIFT + SLACK_BITS)
#define SIZE_BITS 30
#define MASK(bits) ((1ULL << (bits)) - 1)
#define OTHER_GONE 3
#define NO_MARK UINT64_MAX

static inline u64 spread(u64 v)
{
	return v * 0x9e3779b97f4a7c15ULL;
}

/* Where what followed the last symbols stands, and the next one will. */
static inline void model_look(
	const struct event_model *m, const struct event_context *t, u64 *ret_at[EVENT_ORDERS])
{
	const u64 *end = &t->last[EVENT_LAST + t->n % EVENT_LAST];
	u64 two = spread(end[-1] + 3 * end[-2]);
	u64 four = spread(two + 5 * end[-3] + 7 * end[-4]);
	u64 eight = spread(four + 11 * end[-5] + 13 * end[-6] + 17 * end[-7] + 19 * end[-8]);

	ret_at[0] = &m->after[0][eight >> (64 - m->bits)];
	ret_at[1] = &m->after[1][four >> (64 - m->bits)];
	ret_at[2] = &m->after[2][two >> (64 - m->bits)];
}

int event_model_init(struct event_model *m);
void event_model_free(struct event_model *m);
/* Its tables, to twice their size. */
int event_model_grow(struct event_model *m);

/* at: as model_look() found it. */
static inline void model_learn(struct event_context *t, u64 *const at[EVENT_ORDERS], u64 symbol)
{
	u32 i = t->n++ % EVENT_LAST;

	*at[0] = *at[1] = *at[2] = symbol;
	t->last[i] = t->last[i + EVENT_LAST] = spread(symbol) >> 20;
}

/* To be called when one for each place of a table was learnt, and may be at any time. */
static inline int model_fit(struct event_model *m)
{
	if (m->symbols < 1ULL << m->bits || m->bits == EVENT_TABLE_BITS)
		return 0;
	return event_model_grow(m);
}

static inline int thread_add(struct event_model *m)
{
	struct event_context t = {};

	return vec_push(&m->threads, t);
}

#endif
