/* See event_code.h: the decoder. Its input is a file's. */
#include "probes/heap/event_model.h"

#include <errno.h>

static inline int number_get(const u8 **at, const u8 *end, u64 *ret)
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

static inline int column_get(struct event_decoder *d, enum column c, u64 *ret)
{
	return number_get(&d->at[c], d->end[c], ret);
}

int event_decoder_init(struct event_decoder *d)
{
	*d = (struct event_decoder){};
	return event_model_init(&d->model);
}

/* How far the next mark is. */
static int gap_get(struct event_decoder *d)
{
	if (d->at[GAP] == d->end[GAP]) {
		d->gap = NO_MARK;
		return 0;
	}
	return column_get(d, GAP, &d->gap);
}

int event_decoder_chunk(struct event_decoder *d, const u8 *bytes, size_t n)
{
	const u8 *at = bytes, *end = bytes + n;
	u64 sizes[COLUMNS];
	int rc = number_get(&at, end, &d->left);

	rc = rc || d->left > EVENT_CHUNK_EVENTS ? -EBADMSG : 0;
	for (u32 i = 0; i < COLUMNS && !rc; i++)
		rc = number_get(&at, end, &sizes[i]);
	for (u32 i = 0; i < COLUMNS && !rc; i++) {
		if (sizes[i] > (u64)(end - at))
			return d->left = 0, -EBADMSG;
		d->at[i] = at;
		d->end[i] = at += sizes[i];
	}
	rc = rc ? rc : column_get(d, RUN, &d->run);
	rc = rc ? rc : gap_get(d);
	if (!rc && d->gap && d->left && !d->model.threads.n)
		rc = -EBADMSG; /* who did it is told first */
	if (rc)
		d->left = 0;
	else
		d->events_before += d->left;
	return rc;
}

static int literal_get(struct event_decoder *d, u64 kind, u64 *ret)
{
	u64 v = 0, stack = 0, slack = 0;
	int rc = 0;

	switch ((enum symbol_kind)kind) {
	case SYMBOL_ALLOC:
	case SYMBOL_MOVED:
		rc = column_get(d, STACK, &stack);
		rc = rc ? rc : column_get(d, SLACK, &slack);
		rc = rc ? rc : column_get(d, SIZE, &v);
		*ret = (v & MASK(SIZE_BITS)) << SIZE_SHIFT |
		       (slack & MASK(SLACK_BITS)) << SLACK_SHIFT |
		       (stack & MASK(STACK_BITS)) << STACK_SHIFT | kind;
		return rc;
	case SYMBOL_FREE_FORTH:
	case SYMBOL_MOVE_FORTH:
		rc = column_get(d, FORTH, &v);
		break;
	default:
		rc = kind < SYMBOL_KINDS ? column_get(d, BACK, &v) : -EBADMSG;
	}
	*ret = v << KIND_BITS | kind;
	return rc;
}

/* One that the first order does not predict; then the length of the next run. */
static inline int symbol_get(struct event_decoder *d, u64 *const at[EVENT_ORDERS], u64 *ret)
{
	u64 how;
	int rc = column_get(d, HOW, &how);

	if (rc || !how)
		return -EBADMSG;
	if (how < EVENT_ORDERS)
		*ret = *at[how];
	else
		rc = literal_get(d, how - EVENT_ORDERS, ret);
	return rc ? rc : column_get(d, RUN, &d->run);
}

/* -EBADMSG: there was no such block. */
static inline int block_set(const struct event_model *m, u64 block, struct heap_event *ret)
{
	ret->block = block;
	return block - 1 < m->blocks ? 0 : -EBADMSG;
}

static inline int free_set(struct event_model *m, u64 symbol, struct heap_event *ret)
{
	u64 v = symbol >> KIND_BITS;
	int rc;

	ret->what = symbol & 2 ? HEAP_EVENT_MOVE : HEAP_EVENT_FREE;
	if (symbol & 1)
		rc = block_set(m, v & 1 ? m->last_freed - (v >> 1) : m->last_freed + (v >> 1), ret);
	else
		rc = block_set(m, m->blocks - v, ret);
	m->last_freed = ret->block;
	return rc;
}

static inline int alloc_set(struct event_decoder *d, u64 symbol, struct heap_event *ret)
{
	int rc = 0;

	ret->what = symbol & 1 ? HEAP_EVENT_MOVED : HEAP_EVENT_ALLOC;
	ret->stack = (u32)(symbol >> STACK_SHIFT & MASK(STACK_BITS));
	ret->slack = symbol >> SLACK_SHIFT & MASK(SLACK_BITS);
	ret->bytes = symbol >> SIZE_SHIFT;
	ret->block = ++d->model.blocks;
	if (ret->bytes == MASK(SIZE_BITS))
		rc = column_get(d, BIG, &ret->bytes);
	if (ret->slack == MASK(SLACK_BITS))
		rc = rc ? rc : column_get(d, BIG, &ret->slack);
	return rc;
}

static int other_set(const struct event_model *m, u64 v, struct heap_event *ret)
{
	ret->block = 0;
	if (v < 2) {
		ret->what = v ? HEAP_EVENT_MOVE : HEAP_EVENT_FREE;
		return 0;
	}
	ret->what = v == 2 ? HEAP_EVENT_RESTORE : HEAP_EVENT_GONE;
	return v == 2 ? 0 : block_set(m, m->blocks - (v - OTHER_GONE), ret);
}

static inline int event_set(struct event_decoder *d, u64 symbol, struct heap_event *ret)
{
	u32 kind = symbol & MASK(KIND_BITS);

	if (kind < SYMBOL_ALLOC)
		return free_set(&d->model, symbol, ret);
	if (kind < SYMBOL_OTHER)
		return alloc_set(d, symbol, ret);
	return other_set(&d->model, symbol >> KIND_BITS, ret);
}

/* 1: it is an event of its own. */
static int mark_get(struct event_decoder *d, struct heap_event *ret)
{
	struct event_model *m = &d->model;
	u64 v, mark;
	int rc = column_get(d, MARK, &v);

	rc = rc ? rc : gap_get(d);
	if (rc)
		return rc;
	mark = v & 3;
	v >>= 2;
	if (mark == MARK_LATER) {
		m->ms += v;
		return m->ms <= HEAP_EVENT_MS ? 0 : -EBADMSG;
	}
	if (mark == MARK_THREAD) {
		if (v >= m->threads.n)
			return -EBADMSG;
		m->thread = (u32)v;
		return 0;
	}
	*ret = (struct heap_event){
		.what = HEAP_EVENT_THREAD,
		.thread = (u32)m->threads.n,
		.tid = (u32)v,
		.ms = m->ms,
	};
	rc = mark == MARK_NEW_THREAD ? thread_add(m) : -EBADMSG;
	return rc ? rc : 1;
}

/* What is told before the next event, if there is one. 1: an event of its own. */
static int marks_get(struct event_decoder *d, struct heap_event *ret)
{
	int rc = 0;

	while (!d->gap && !rc)
		rc = mark_get(d, ret);
	return !rc && d->left && !d->model.threads.n ? -EBADMSG : rc;
}

/* Of one thread at one time. 0: all of them; *ret_n: so many. */
static int events_get(struct event_decoder *d, struct heap_event *to, u64 n, u32 *ret_n)
{
	struct event_model *m = &d->model;
	struct event_context *t = &m->threads.v[m->thread];
	int rc = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		u64 *at[EVENT_ORDERS], symbol;

		model_look(m, t, at);
		if (d->run) {
			d->run--;
			symbol = *at[0];
		} else {
			rc = symbol_get(d, at, &symbol);
			if (rc)
				break;
		}
		rc = event_set(d, symbol, &to[i]);
		rc = rc ? rc : model_learn(m, t, at, symbol);
		if (rc)
			break;
	}
	*ret_n = i;
	return rc;
}

int event_decoder_run(struct event_decoder *d, struct heap_event *to, u32 most, u32 *ret_n)
{
	int rc = 0;

	*ret_n = 0;
	if (!d->gap)
		rc = marks_get(d, to);
	if (rc > 0) {
		*ret_n = 1;
		return rc;
	}
	if (!rc && !d->left)
		return 0;
	rc = rc ? rc : events_get(d, to, MIN(MIN((u64)most, d->left), d->gap), ret_n);
	to->thread = d->model.thread;
	to->ms = d->model.ms;
	d->left -= *ret_n;
	d->gap -= *ret_n;
	if (!rc)
		return 1;
	d->left = 0, d->gap = NO_MARK;
	return rc;
}

int event_decoder_next(struct event_decoder *d, struct heap_event *ret)
{
	u32 n;

	return event_decoder_run(d, ret, 1, &n);
}

void event_decoder_free(struct event_decoder *d)
{
	event_model_free(&d->model);
}
