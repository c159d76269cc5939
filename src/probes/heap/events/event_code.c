/* See event_code.h, and event_model.h for what is written: the coder. */
#include "probes/heap/events/event_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static u64 alloc_symbol(struct event_model *m, const struct heap_event *e)
{
	m->blocks++;
	return MIN(e->bytes, MASK(SIZE_BITS)) << SIZE_SHIFT |
	       MIN(e->slack, MASK(SLACK_BITS)) << SLACK_SHIFT |
	       (u64)(e->stack & HEAP_EVENT_STACK) << STACK_SHIFT |
	       (e->what == HEAP_EVENT_MOVED ? SYMBOL_MOVED : SYMBOL_ALLOC);
}

static u64 free_symbol(struct event_model *m, const struct heap_event *e)
{
	u64 back = m->blocks - e->block, move = e->what == HEAP_EVENT_MOVE, forth;

	if (!e->block)
		return move << KIND_BITS | SYMBOL_OTHER;
	forth = e->block < m->last_freed ? (m->last_freed - e->block) << 1 | 1
					 : (e->block - m->last_freed) << 1;
	m->last_freed = e->block;
	return back <= forth ? back << KIND_BITS | (move ? SYMBOL_MOVE_BACK : SYMBOL_FREE_BACK)
			     : forth << KIND_BITS | (move ? SYMBOL_MOVE_FORTH : SYMBOL_FREE_FORTH);
}

static u64 symbol_of(struct event_model *m, const struct heap_event *e)
{
	switch ((enum heap_event_what)e->what) {
	case HEAP_EVENT_ALLOC:
	case HEAP_EVENT_MOVED:
		return alloc_symbol(m, e);
	case HEAP_EVENT_GONE:
		return (m->blocks - e->block + OTHER_GONE) << KIND_BITS | SYMBOL_OTHER;
	case HEAP_EVENT_RESTORE:
		return 2 << KIND_BITS | SYMBOL_OTHER;
	default:
		return free_symbol(m, e);
	}
}

static int number_put(event_bytes *to, u64 v)
{
	int rc = vec_reserve(to, 10);

	if (rc)
		return rc;
	for (; v >= 128; v >>= 7)
		to->v[to->n++] = (u8)(v | 128);
	to->v[to->n++] = (u8)v;
	return 0;
}

static int column_put(struct event_coder *c, enum column column, u64 v)
{
	size_t had = c->columns[column].n;
	int rc = number_put(&c->columns[column], v);

	c->bytes += c->columns[column].n - had;
	return rc;
}

int event_coder_init(struct event_coder *c)
{
	*c = (struct event_coder){};
	return event_model_init(&c->model);
}

static int mark_put(struct event_coder *c, enum mark mark, u64 v)
{
	int rc = column_put(c, GAP, c->gap);

	c->gap = 0;
	return rc ? rc : column_put(c, MARK, v << 2 | mark);
}

int event_coder_thread(struct event_coder *c, u32 tid)
{
	int rc = thread_add(&c->model);

	return rc ? rc : mark_put(c, MARK_NEW_THREAD, tid);
}

static int marks_put(struct event_coder *c, const struct heap_event *e)
{
	int rc = 0;

	if (e->ms > c->model.ms) {
		rc = mark_put(c, MARK_LATER, e->ms - c->model.ms);
		c->model.ms = e->ms;
	}
	if (e->thread != c->model.thread) {
		rc = rc ? rc : mark_put(c, MARK_THREAD, e->thread);
		c->model.thread = e->thread;
	}
	return rc;
}

/* What no order predicts. */
static int literal_put(struct event_coder *c, u64 symbol)
{
	u32 kind = symbol & MASK(KIND_BITS);
	int rc = column_put(c, HOW, EVENT_ORDERS + kind);

	switch ((enum symbol_kind)kind) {
	case SYMBOL_ALLOC:
	case SYMBOL_MOVED:
		rc = rc ? rc : column_put(c, STACK, symbol >> STACK_SHIFT & MASK(STACK_BITS));
		rc = rc ? rc : column_put(c, SLACK, symbol >> SLACK_SHIFT & MASK(SLACK_BITS));
		return rc ? rc : column_put(c, SIZE, symbol >> SIZE_SHIFT);
	case SYMBOL_FREE_FORTH:
	case SYMBOL_MOVE_FORTH:
		return rc ? rc : column_put(c, FORTH, symbol >> KIND_BITS);
	default:
		return rc ? rc : column_put(c, BACK, symbol >> KIND_BITS);
	}
}

static int symbol_put(struct event_coder *c, u64 *const at[EVENT_ORDERS], u64 symbol)
{
	u32 order = 0;
	int rc;

	while (order < EVENT_ORDERS && *at[order] != symbol)
		order++;
	if (!order) {
		c->run++;
		return 0;
	}
	rc = column_put(c, RUN, c->run);
	c->run = 0;
	if (order < EVENT_ORDERS)
		return rc ? rc : column_put(c, HOW, order);
	return rc ? rc : literal_put(c, symbol);
}

static int big_put(struct event_coder *c, const struct heap_event *e)
{
	int rc = 0;

	if (e->what > HEAP_EVENT_MOVED)
		return 0;
	if (e->bytes >= MASK(SIZE_BITS))
		rc = column_put(c, BIG, e->bytes);
	if (e->slack >= MASK(SLACK_BITS))
		rc = rc ? rc : column_put(c, BIG, e->slack);
	return rc;
}

int event_coder_put(struct event_coder *c, const struct heap_event *e)
{
	int rc = marks_put(c, e);
	u64 symbol = symbol_of(&c->model, e), *at[EVENT_ORDERS];
	struct event_context *t = &c->model.threads.v[c->model.thread];

	model_look(&c->model, t, at);
	rc = rc ? rc : symbol_put(c, at, symbol);
	if (!rc) {
		model_learn(t, at, symbol);
		c->model.symbols++;
		rc = model_fit(&c->model);
	}
	c->events++;
	c->gap++;
	return rc ? rc : big_put(c, e);
}

bool event_coder_has(const struct event_coder *c)
{
	return c->events || c->bytes;
}

int event_coder_take(struct event_coder *c, event_bytes *to)
{
	int rc = number_put(&c->columns[RUN], c->run);

	rc = rc ? rc : number_put(to, c->events);
	for (u32 i = 0; i < COLUMNS && !rc; i++)
		rc = number_put(to, c->columns[i].n);
	for (u32 i = 0; i < COLUMNS && !rc; i++) {
		event_bytes *col = &c->columns[i];

		rc = vec_reserve(to, col->n);
		if (rc)
			break;
		if (col->n)
			memcpy(to->v + to->n, col->v, col->n);
		to->n += col->n;
		col->n = 0;
	}
	c->events_before += c->events;
	c->run = c->gap = c->events = c->bytes = 0;
	return rc;
}

void event_coder_free(struct event_coder *c)
{
	for (u32 i = 0; i < COLUMNS; i++)
		vec_free(&c->columns[i]);
	event_model_free(&c->model);
}
