/* See event_code.h: the decoder. Its input is a file's. */
#include "probes/heap/events/event_model.h"

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

/* One that the first order does not predict, but maybe the others; then the length of the next run.
 */
static int symbol_get(struct event_decoder *d, u64 second, u64 third, u64 *ret)
{
	u64 how;
	int rc = column_get(d, HOW, &how);

	if (rc || !how)
		return -EBADMSG;
	if (how < EVENT_ORDERS)
		*ret = how == 1 ? second : third;
	else
		rc = literal_get(d, how - EVENT_ORDERS, ret);
	return rc ? rc : column_get(d, RUN, &d->run);
}

/* What each event changes: apart from what is written to the tables, to stay in registers. */
struct at_hand {
	u64 run, blocks, last_freed;
};

/* -EBADMSG: there was no such block. */
static inline int block_set(u64 blocks, u64 block, struct heap_event *ret)
{
	ret->block = block;
	return block - 1 < blocks ? 0 : -EBADMSG;
}

static inline int free_set(struct at_hand *h, u64 symbol, struct heap_event *ret)
{
	u64 v = symbol >> KIND_BITS, forth = v & 1 ? -(v >> 1) : v >> 1;

	ret->what = symbol & 2 ? HEAP_EVENT_MOVE : HEAP_EVENT_FREE;
	h->last_freed = symbol & 1 ? h->last_freed + forth : h->blocks - v;
	return block_set(h->blocks, h->last_freed, ret);
}

static int big_get(struct event_decoder *d, struct heap_event *ret)
{
	int rc = 0;

	if (ret->bytes == MASK(SIZE_BITS))
		rc = column_get(d, BIG, &ret->bytes);
	if (ret->slack == MASK(SLACK_BITS))
		rc = rc ? rc : column_get(d, BIG, &ret->slack);
	return rc;
}

static inline int alloc_set(
	struct event_decoder *d, struct at_hand *h, u64 symbol, struct heap_event *ret)
{
	ret->what = symbol & 1 ? HEAP_EVENT_MOVED : HEAP_EVENT_ALLOC;
	ret->stack = (u32)(symbol >> STACK_SHIFT & MASK(STACK_BITS));
	ret->slack = symbol >> SLACK_SHIFT & MASK(SLACK_BITS);
	ret->bytes = symbol >> SIZE_SHIFT;
	ret->block = ++h->blocks;
	return ret->bytes == MASK(SIZE_BITS) || ret->slack == MASK(SLACK_BITS) ? big_get(d, ret)
									       : 0;
}

static int other_set(u64 blocks, u64 v, struct heap_event *ret)
{
	ret->block = 0;
	if (v < 2) {
		ret->what = v ? HEAP_EVENT_MOVE : HEAP_EVENT_FREE;
		return 0;
	}
	ret->what = v == 2 ? HEAP_EVENT_RESTORE : HEAP_EVENT_GONE;
	return v == 2 ? 0 : block_set(blocks, blocks - (v - OTHER_GONE), ret);
}

static inline int event_set(
	struct event_decoder *d, struct at_hand *h, u64 symbol, struct heap_event *ret)
{
	u32 kind = symbol & MASK(KIND_BITS);

	if (kind < SYMBOL_ALLOC)
		return free_set(h, symbol, ret);
	if (kind < SYMBOL_OTHER)
		return alloc_set(d, h, symbol, ret);
	return other_set(h->blocks, symbol >> KIND_BITS, ret);
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

/* Of one thread at one time, while the tables have their size. 0: all of them; *ret_n: so many. */
static int events_get(struct event_decoder *d, struct heap_event *to, u32 n, u32 *ret_n)
{
	struct event_model *m = &d->model;
	struct event_context *t = &m->threads.v[m->thread];
	struct at_hand h = {d->run, m->blocks, m->last_freed};
	int rc = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		u64 *at[EVENT_ORDERS], symbol;

		model_look(m, t, at);
		symbol = *at[0];
		if (!h.run--) {
			u64 other = 0;

			rc = symbol_get(d, *at[1], *at[2], &other);
			symbol = other;
			h.run = d->run;
		}
		rc = rc ? rc : event_set(d, &h, symbol, &to[i]);
		if (rc)
			break;
		model_learn(t, at, symbol);
	}
	d->run = h.run;
	m->blocks = h.blocks;
	m->last_freed = h.last_freed;
	*ret_n = i;
	return rc;
}

/* Of one thread at one time, up to n. */
static int events_get_some(struct event_decoder *d, struct heap_event *to, u32 n, u32 *ret_n)
{
	struct event_model *m = &d->model;
	int rc;

	if (m->bits < EVENT_TABLE_BITS)
		n = (u32)MIN((u64)n, (1ULL << m->bits) - m->symbols);
	rc = events_get(d, to, n, ret_n);
	m->symbols += *ret_n;
	return rc ? rc : model_fit(m);
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
	if (!rc)
		rc = events_get_some(d, to, (u32)MIN(MIN((u64)most, d->left), d->gap), ret_n);
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
