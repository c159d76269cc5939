/*
 * See event_code.h. A symbol in 64 bits: bit 0 an allocation, with its size (40) and stack (22);
 * else a free, with bit 1 where it is told from the last one freed (with the sign in bit 2).
 *
 * A chunk: number of events, then the bytes of each column, as numbers of seven bits a byte; then
 * the columns.
 */
#include "probes/heap/event_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum column { RUN, ORDER, KIND, STACK, SIZE, BACK, FORTH };

#define SIZE_BITS 40
#define MASK(bits) ((1ULL << (bits)) - 1)
#define TABLE (1UL << EVENT_TABLE_BITS)

static inline u64 spread(u64 v)
{
	return v * 0x9e3779b97f4a7c15ULL;
}

static int model_init(struct event_model *m)
{
	*m = (struct event_model){};
	for (u32 i = 0; i < EVENT_ORDERS; i++) {
		m->after[i] = calloc(TABLE, sizeof(u64));
		if (!m->after[i])
			return -ENOMEM;
	}
	return 0;
}

static void model_free(struct event_model *m)
{
	for (u32 i = 0; i < EVENT_ORDERS; i++)
		free(m->after[i]);
	*m = (struct event_model){};
}

static inline u64 last(const struct event_model *m, u32 back)
{
	return m->last[(m->n - back) % EVENT_LAST];
}

static inline void model_look(struct event_model *m)
{
	u64 two = spread(last(m, 1) + 3 * last(m, 2));
	u64 four = spread(two + 5 * last(m, 3) + 7 * last(m, 4));
	u64 eight = spread(
		four + 11 * last(m, 5) + 13 * last(m, 6) + 17 * last(m, 7) + 19 * last(m, 8));

	m->at[0] = &m->after[0][eight >> (64 - EVENT_TABLE_BITS)];
	m->at[1] = &m->after[1][four >> (64 - EVENT_TABLE_BITS)];
	m->at[2] = &m->after[2][two >> (64 - EVENT_TABLE_BITS)];
}

static inline void model_learn(struct event_model *m, u64 symbol)
{
	for (u32 i = 0; i < EVENT_ORDERS; i++)
		*m->at[i] = symbol;
	m->last[m->n++ % EVENT_LAST] = spread(symbol) >> 20;
}

static u64 symbol_of(struct event_model *m, const struct heap_event *e)
{
	u64 back = m->blocks - e->block, forth;

	if (!e->free) {
		m->blocks++;
		return (u64)e->stack << (SIZE_BITS + 1) | e->bytes << 1 | 1;
	}
	forth = e->block < m->last_freed ? (m->last_freed - e->block) << 1 | 1
					 : (e->block - m->last_freed) << 1;
	m->last_freed = e->block;
	return back <= forth ? back << 2 : forth << 2 | 2;
}

/* 0, or -EBADMSG: no such block was ever allocated. */
static int symbol_read(struct event_model *m, u64 symbol, struct heap_event *ret)
{
	u64 v = symbol >> 2;

	*ret = (struct heap_event){.free = !(symbol & 1)};
	if (!ret->free) {
		ret->block = ++m->blocks;
		ret->bytes = symbol >> 1 & MASK(SIZE_BITS);
		ret->stack = (u32)(symbol >> (SIZE_BITS + 1)) & HEAP_EVENT_STACK;
		return 0;
	}
	if (symbol & 2)
		ret->block = v & 1 ? m->last_freed - (v >> 1) : m->last_freed + (v >> 1);
	else
		ret->block = m->blocks - v;
	if (ret->block - 1 >= m->blocks)
		return -EBADMSG;
	m->last_freed = ret->block;
	return 0;
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

int event_coder_init(struct event_coder *c)
{
	*c = (struct event_coder){};
	return model_init(&c->model);
}

static int literal_put(struct event_coder *c, u64 symbol)
{
	u32 kind = symbol & 1 ? 1 : symbol & 2;
	int rc = number_put(&c->columns[KIND], kind);

	if (rc || kind != 1)
		return rc ? rc : number_put(&c->columns[kind ? FORTH : BACK], symbol >> 2);
	rc = number_put(&c->columns[STACK], symbol >> (SIZE_BITS + 1));
	return rc ? rc : number_put(&c->columns[SIZE], symbol >> 1 & MASK(SIZE_BITS));
}

int event_coder_put(struct event_coder *c, const struct heap_event *e)
{
	u64 symbol = symbol_of(&c->model, e);
	u32 order = 0;
	int rc;

	model_look(&c->model);
	while (order < EVENT_ORDERS && *c->model.at[order] != symbol)
		order++;
	model_learn(&c->model, symbol);
	c->events++;
	if (!order) {
		c->run++;
		return 0;
	}
	rc = number_put(&c->columns[RUN], c->run);
	c->run = 0;
	rc = rc ? rc : number_put(&c->columns[ORDER], order);
	return rc || order < EVENT_ORDERS ? rc : literal_put(c, symbol);
}

int event_coder_take(struct event_coder *c, event_bytes *to)
{
	int rc = number_put(&c->columns[RUN], c->run);

	rc = rc ? rc : number_put(to, c->events);
	for (u32 i = 0; i < EVENT_COLUMNS && !rc; i++)
		rc = number_put(to, c->columns[i].n);
	for (u32 i = 0; i < EVENT_COLUMNS && !rc; i++) {
		event_bytes *col = &c->columns[i];

		rc = vec_reserve(to, col->n);
		if (rc)
			break;
		if (col->n)
			memcpy(to->v + to->n, col->v, col->n);
		to->n += col->n;
		col->n = 0;
	}
	c->run = c->events = 0;
	return rc;
}

void event_coder_free(struct event_coder *c)
{
	for (u32 i = 0; i < EVENT_COLUMNS; i++)
		vec_free(&c->columns[i]);
	model_free(&c->model);
}

static int number_get(const u8 **at, const u8 *end, u64 *ret)
{
	u64 v = 0;

	for (u32 shift = 0; *at < end && shift < 64; shift += 7) {
		u8 b = *(*at)++;

		v |= (u64)(b & 127) << shift;
		if (!(b & 128)) {
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static int column_get(struct event_decoder *d, enum column c, u64 *ret)
{
	return number_get(&d->at[c], d->end[c], ret);
}

int event_decoder_init(struct event_decoder *d)
{
	*d = (struct event_decoder){};
	return model_init(&d->model);
}

int event_decoder_chunk(struct event_decoder *d, const u8 *bytes, size_t n)
{
	const u8 *at = bytes, *end = bytes + n;
	u64 sizes[EVENT_COLUMNS];
	int rc = number_get(&at, end, &d->left);

	for (u32 i = 0; i < EVENT_COLUMNS && !rc; i++)
		rc = number_get(&at, end, &sizes[i]);
	for (u32 i = 0; i < EVENT_COLUMNS && !rc; i++) {
		if (sizes[i] > (u64)(end - at))
			return d->left = 0, -EBADMSG;
		d->at[i] = at;
		d->end[i] = at += sizes[i];
	}
	rc = rc ? rc : column_get(d, RUN, &d->run);
	if (rc)
		d->left = 0;
	return rc;
}

static int literal_get(struct event_decoder *d, u64 *ret)
{
	u64 kind, v, stack = 0;
	int rc = column_get(d, KIND, &kind);

	if (rc || kind > 2)
		return -EBADMSG;
	if (kind == 1)
		rc = column_get(d, STACK, &stack);
	rc = rc ? rc : column_get(d, kind == 1 ? SIZE : kind ? FORTH : BACK, &v);
	if (rc)
		return rc;
	*ret = kind == 1 ? stack << (SIZE_BITS + 1) | (v & MASK(SIZE_BITS)) << 1 | 1
			 : v << 2 | kind;
	return 0;
}

/* One that the first order does not predict; then the length of the next run. */
static int symbol_get(struct event_decoder *d, u64 *ret)
{
	u64 order;
	int rc = column_get(d, ORDER, &order);

	if (rc || !order || order > EVENT_ORDERS)
		return -EBADMSG;
	if (order < EVENT_ORDERS)
		*ret = *d->model.at[order];
	else
		rc = literal_get(d, ret);
	return rc ? rc : column_get(d, RUN, &d->run);
}

int event_decoder_next(struct event_decoder *d, struct heap_event *ret)
{
	u64 symbol;
	int rc = 0;

	if (!d->left)
		return 0;
	model_look(&d->model);
	if (d->run) {
		d->run--;
		symbol = *d->model.at[0];
	} else {
		rc = symbol_get(d, &symbol);
	}
	rc = rc ? rc : symbol_read(&d->model, symbol, ret);
	if (rc) {
		d->left = 0;
		return rc;
	}
	model_learn(&d->model, symbol);
	d->left--;
	return 1;
}

void event_decoder_free(struct event_decoder *d)
{
	model_free(&d->model);
}
