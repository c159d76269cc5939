/* See ring_reader.h. */
#include "probes/heap/collect/ring_reader.h"
#include "probes/heap/events/event_writer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"

#define AHEAD 12       /* words: what an event in so many words' time needs is fetched now */
#define PUBLISH 512    /* words: how often the writer is told of the room there is */
#define QUIET_MS 50    /* between two looks for an event that was never finished */
#define GAP_GREW 2     /* looks at which there was more behind it than before */
#define GAP_MS 2000    /* without that */
#define LOST_WORDS 512 /* at most, of an event that was never finished; no ring is smaller */
#define NEAR_WORDS 256 /* more than a thread writes in TRACK_EARLY */
#define MODULE_WORDS 256

static int thread_new(struct heap_process *p, u32 tid, u32 *ret)
{
	size_t had = p->account.threads.n;
	int rc = account_thread(&p->account, tid, ret);

	return rc || !p->events || p->account.threads.n == had
		       ? rc
		       : event_writer_thread(p->events, tid);
}

static void ring_set(struct ring_reader *c, u32 grown)
{
	struct track_slot *first = c->slot - c->index;
	char *head = (char *)first - offsetof(struct track_head, slot);

	c->ring = (u64 *)(head + track_ring_offset(c->index, grown));
	c->mask = track_words(c->index, grown) - 1;
	c->grown = grown;
}

int ring_reader_open(struct track_head *head, u32 slot, u32 grown, struct heap_process *p,
	struct ring_reader **ret)
{
	struct ring_reader *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->slot = &head->slot[slot];
	c->index = slot;
	c->process = p;
	c->tid = c->slot->tid;
	ring_set(c, grown);
	c->full = c->slot->full;
	c->tail = c->swept = c->read = c->slot->tail;
	rc = thread_new(p, c->tid, &c->thread);
	if (rc)
		ring_reader_close(c);
	else
		*ret = c;
	return rc;
}

void ring_reader_close(struct ring_reader *c)
{
	if (c) {
		vec_free(&c->taken.v);
		vec_free(&c->misses);
	}
	free(c);
}

bool ring_reader_was_pressed(struct ring_reader *c)
{
	bool pressed = c->tail - c->read > c->mask / 4;

	c->read = c->tail;
	return pressed;
}

bool ring_reader_was_busy(struct ring_reader *c)
{
	bool busy = c->swept != c->tail;

	c->swept = c->tail;
	return busy;
}

static inline u64 word_get(const struct ring_reader *c, u64 at)
{
	return __atomic_load_n(&c->ring[at & c->mask], __ATOMIC_ACQUIRE);
}

bool ring_reader_waits(const struct ring_reader *c)
{
	return word_get(c, c->tail) != 0;
}

bool ring_reader_is_full(const struct ring_reader *c)
{
	return word_get(c, c->tail + c->mask / 2) || word_get(c, c->tail + c->mask / 2 + 1);
}

bool ring_reader_wants(struct ring_reader *c, bool held)
{
	u32 full = __atomic_load_n(&c->slot->full, __ATOMIC_ACQUIRE);
	bool wants = full != c->full || (held && ring_reader_is_full(c));

	c->full = full;
	return wants && !c->given && !c->left && !c->stays;
}

void ring_reader_give(struct ring_reader *c, u32 grown)
{
	c->given = grown;
	if (grown)
		__atomic_store_n(&c->slot->grown, grown, __ATOMIC_RELEASE);
}

/* It went on only when all was read that is in the ring it left. */
void ring_reader_turn(struct ring_reader *c)
{
	u32 turned = c->given ? __atomic_load_n(&c->slot->turned, __ATOMIC_ACQUIRE) : 0;

	if (!c->given || (turned != c->given && turned != TRACK_STAYS))
		return;
	c->stays = turned == TRACK_STAYS;
	c->left = c->stays ? c->given : c->grown;
	if (!c->stays)
		ring_set(c, c->given);
	c->given = 0;
}

static inline void words_clear(struct ring_reader *c, u64 n)
{
	for (u64 i = 0; i < n; i++)
		__atomic_store_n(&c->ring[(c->tail + i) & c->mask], 0, __ATOMIC_RELAXED);
	c->tail += n;
}

/* The writers of all rings see that somebody reads. */
static void ring_reader_publish(struct ring_reader *c)
{
	u32 *beat = c->process->account.beat;

	if (beat)
		__atomic_add_fetch(beat, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&c->slot->tail, c->tail, __ATOMIC_RELEASE);
}

static u64 arg_of(u64 word)
{
	return word >> TRACK_ARG_SHIFT & TRACK_MASK(TRACK_ARG_BITS);
}

/* Words of an event; 0: none is as long as this one claims to be. */
static inline u64 event_words(u64 word)
{
	switch (word & TRACK_KIND_MASK) {
	case TRACK_ALLOC:
	case TRACK_MOVED:
		return 2;
	case TRACK_STACK:
		return arg_of(word) && arg_of(word) <= TRACK_DEPTH ? 1 + arg_of(word) : 0;
	case TRACK_EXTRA:
		if (arg_of(word) == TRACK_MAPPING)
			return TRACK_MAPPING_WORDS;
		if (arg_of(word) != TRACK_MODULE)
			return 1;
		return word >> TRACK_VALUE_SHIFT <= MODULE_WORDS ? 1 + (word >> TRACK_VALUE_SHIFT)
								 : 0;
	}
	return 1;
}

static inline u64 time_of(u64 word, u64 time_high)
{
	u64 kind = word & TRACK_KIND_MASK;

	if (kind > TRACK_MOVED && (kind != TRACK_EXTRA || arg_of(word) != TRACK_MAPPING))
		return 0; /* it has none, and need not wait */
	return time_high << TRACK_TIME_LOW | word >> (64 - TRACK_TIME_LOW);
}

static inline u64 event_time(const struct ring_reader *c, u64 word)
{
	return time_of(word, c->time_high);
}

static inline u64 time_high_of(u64 word)
{
	return (word & TRACK_MASK(TRACK_NODE_SHIFT)) >> TRACK_ARG_SHIFT;
}

static inline bool frees(u64 word)
{
	u64 kind = word & TRACK_KIND_MASK;

	return kind == TRACK_FREE || kind == TRACK_MOVE;
}

static int alloc_take(struct ring_reader *c, u64 word, bool moved, u64 now_ms)
{
	u64 what = word_get(c, c->tail + 1), size = what >> TRACK_SIZE_SHIFT;
	u64 slack = what >> TRACK_SLACK_SHIFT & TRACK_MASK(TRACK_SLACK_BITS);
	u64 address = word & TRACK_ADDRESS_MASK;
	u32 stack = (u32)(what >> TRACK_STACK_SHIFT & TRACK_MASK(TRACK_STACK_BITS));
	struct heap_process *p = c->process;
	int rc;

	if (size == TRACK_SIZE_BIG && c->size)
		size = c->size;
	if (slack == TRACK_SLACK_BIG && c->slack)
		slack = c->slack;
	c->size = c->slack = 0;
	moved = moved && c->moving;
	c->moving = false;
	if (!address)
		return 0; /* nothing is allocated there */
	rc = account_alloc(&p->account, c->thread, address, size, slack, stack, moved, now_ms);
	if (!rc && p->events)
		rc = event_writer_alloc(
			p->events, c->thread, address, size, slack, stack, moved, now_ms);
	if (rc || !p->touched)
		return rc;
	return block_lookup_alloc(c, address, size, moved, event_time(c, word));
}

/* move: realloc begins. */
static int free_take(struct ring_reader *c, u64 word, bool move, u64 now_ms)
{
	u64 address = word & TRACK_ADDRESS_MASK;
	struct heap_process *p = c->process;

	account_free(&p->account, c->thread, address, now_ms, move ? &c->moved : NULL);
	c->moving |= move;
	return p->events ? event_writer_free(p->events, c->thread, address, move, now_ms) : 0;
}

static int move_undo(struct ring_reader *c, u64 now_ms)
{
	struct heap_process *p = c->process;
	int rc = 0;

	if (c->moving)
		rc = account_restore(&p->account, c->thread, &c->moved);
	if (c->moving && !rc && p->events)
		rc = event_writer_restore(p->events, c->thread, now_ms);
	c->misses.n = 0;
	c->moving = false;
	return rc;
}

static int news_add(
	struct ring_reader *c, news_buffer *news, enum news_kind kind, u32 number, u64 words)
{
	struct news head = {
		.kind = kind,
		.words = (u32)words,
		.process = c->process->id,
		.program = c->process->program,
		.thread = c->thread,
		.number = number,
	};
	u64 raw[sizeof(head) / sizeof(u64)];
	int rc = 0;

	memcpy(raw, &head, sizeof(head));
	for (size_t i = 0; i < ARRAY_SIZE(raw) && !rc; i++)
		rc = vec_push(news, raw[i]);
	for (u64 i = 0; i < words && !rc; i++)
		rc = vec_push(news, word_get(c, c->tail + 1 + i));
	return rc;
}

_Static_assert((int)TRACK_MAPPED_BREAK == (int)HEAP_MAPPED_BREAK &&
		       (int)TRACK_MAPPED_KINDS == (int)HEAP_MAPPED_KINDS,
	"a kind of mapping has one number in rings and in records");

static int mapping_take(struct ring_reader *c, u64 word, u64 now_ms)
{
	u64 value = word >> TRACK_VALUE_SHIFT;
	u32 kind = (u32)(value >> TRACK_MAPPED_SHIFT & TRACK_MASK(TRACK_MAPPED_SHIFT));
	u64 address = word_get(c, c->tail + 1);
	u64 bytes = word_get(c, c->tail + 2) >> TRACK_ARG_SHIFT;
	u32 stack = (u32)(word_get(c, c->tail + 3) >> TRACK_ARG_SHIFT);
	struct mappings *m = &c->process->mappings;
	int rc = 0;

	if (stack >> TRACK_STACK_BITS || kind >= TRACK_MAPPED_KINDS)
		stack = kind = 0;
	switch ((enum track_mapping)(value & TRACK_MASK(TRACK_MAPPED_SHIFT))) {
	case TRACK_MAP:
		rc = mappings_map(m, stack, kind, address, bytes, now_ms);
		break;
	case TRACK_UNMAP:
		rc = mappings_unmap(m, address, bytes, false, &c->taken);
		break;
	case TRACK_MAP_MOVE:
		rc = mappings_unmap(m, address, bytes, true, &c->taken);
		break;
	case TRACK_MAP_MOVED:
		rc = mappings_moved(m, stack, address, bytes, &c->taken, now_ms);
		break;
	case TRACK_MAP_RESTORE:
		rc = mappings_restore(m, stack, address, bytes, &c->taken, now_ms);
		break;
	case TRACK_MAP_FAILED:
		rc = mappings_failed(m, stack, kind);
		break;
	}
	c->process->dropped += rc == -EINVAL; /* no such thing can have been mapped */
	return rc == -EINVAL ? 0 : rc;
}

static int extra_take(struct ring_reader *c, u64 word, u64 now_ms, news_buffer *news)
{
	u64 value = word >> TRACK_VALUE_SHIFT;

	switch (arg_of(word)) {
	case TRACK_SIZE:
		c->size = value;
		break;
	case TRACK_SLACK:
		c->slack = value;
		break;
	case TRACK_RESTORE:
		return move_undo(c, now_ms);
	case TRACK_MODULE:
		return news_add(c, news, NEWS_MODULE, 0, value);
	case TRACK_MAPPING:
		return mapping_take(c, word, now_ms);
	}
	return 0;
}

static int event_take(struct ring_reader *c, u64 word, u64 now_ms, news_buffer *news)
{
	switch (word & TRACK_KIND_MASK) {
	case TRACK_ALLOC:
		return alloc_take(c, word, false, now_ms);
	case TRACK_MOVED:
		return alloc_take(c, word, true, now_ms);
	case TRACK_FREE:
		if (c->process->touched &&
			block_lookup_free(c, word & TRACK_ADDRESS_MASK, event_time(c, word)))
			return -ENOMEM;
		return free_take(c, word, false, now_ms);
	case TRACK_MOVE:
		return free_take(c, word, true, now_ms);
	case TRACK_TIME:
		c->time_high = time_high_of(word);
		if (c->process->touched && c->node != word >> TRACK_NODE_SHIFT)
			return block_lookup_node(c, (u32)(word >> TRACK_NODE_SHIFT), now_ms);
		return 0;
	case TRACK_STACK:
		if (word >> TRACK_VALUE_SHIFT >> TRACK_STACK_BITS)
			return 0; /* no such number */
		return news_add(
			c, news, NEWS_STACK, (u32)(word >> TRACK_VALUE_SHIFT), arg_of(word));
	}
	return extra_take(c, word, now_ms, news);
}

static int event_wait(struct ring_reader *c, u64 word, u64 now_ms, news_buffer *news);

static int ring_reader_take(struct ring_reader *c, u64 word, u64 now_ms, news_buffer *news)
{
	u64 n = event_words(word), ahead = word_get(c, c->tail + AHEAD) & TRACK_ADDRESS_MASK;
	int rc = 0;

	live_prefetch(&c->process->account.live, ahead);
	if (c->process->events)
		event_writer_prefetch(c->process->events, ahead);
	if ((word & TRACK_KIND_MASK) <= TRACK_MOVED && c->process->readers.n > 1)
		rc = event_wait(c, word, now_ms, news);
	if (n && !rc)
		rc = event_take(c, word, now_ms, news);
	words_clear(c, n ? n : 1);
	return rc;
}

/* Is such an event of this address in the ring, not later than `until`? *ret_end: behind it. */
static bool ring_reader_has(
	const struct ring_reader *c, u64 address, bool free, u64 until, u64 *ret_end)
{
	u64 time_high = c->time_high;

	for (u64 at = c->tail, n; at - c->tail < NEAR_WORDS; at += n) {
		u64 word = word_get(c, at), kind = word & TRACK_KIND_MASK;

		if (!word || time_of(word, time_high) > until)
			break;
		n = kind ? MAX(event_words(word), 1ULL) : 1;
		if (kind == TRACK_TIME)
			time_high = time_high_of(word);
		if (!kind || kind > TRACK_MOVED || (word & TRACK_ADDRESS_MASK) != address)
			continue;
		if (frees(word) == free) {
			*ret_end = at + n;
			return true;
		}
	}
	return false;
}

/*
 * A free of what is not there, or an allocation where something is: its time may be early, and then
 * what happened before it is in another ring, as it was written before it. Takes that first.
 */
static int event_wait(struct ring_reader *c, u64 word, u64 now_ms, news_buffer *news)
{
	struct heap_process *p = c->process;
	u64 address = word & TRACK_ADDRESS_MASK, until = event_time(c, word) + TRACK_EARLY, end;
	int rc = 0;

	if (p->touched || account_has(&p->account, address) == frees(word))
		return 0;
	c->taking = true;
	vec_each (at, &p->readers) {
		struct ring_reader *o = *at;

		if (o->taking || !ring_reader_has(o, address, !frees(word), until, &end))
			continue;
		while (o->tail < end && !rc) {
			u64 first = word_get(o, o->tail);

			if (first & TRACK_KIND_MASK)
				rc = ring_reader_take(o, first, now_ms, news);
			else
				words_clear(o, 1);
		}
		break;
	}
	c->taking = false;
	return rc;
}

int ring_reader_run(struct ring_reader *c, u64 limit, u64 now_ms, news_buffer *news)
{
	const u64 often = MIN((u64)PUBLISH, (c->mask + 1) / 4);
	u64 end = c->tail + c->mask + 1, publish = c->tail + often;
	int rc = 0;

	while (c->tail < end && !rc) {
		u64 word = word_get(c, c->tail);

		if (!(word & TRACK_KIND_MASK)) {
			if (!word)
				break;
			words_clear(c, 1); /* of an event that was never finished */
			continue;
		}
		if (event_time(c, word) > limit)
			break;
		rc = ring_reader_take(c, word, now_ms, news);
		if (c->tail >= publish) {
			ring_reader_publish(c);
			publish = c->tail + often;
		}
	}
	ring_reader_publish(c);
	return rc;
}

u64 ring_reader_time(const struct ring_reader *c)
{
	u64 word = word_get(c, c->tail);

	if (!word)
		return CURSOR_NO_LIMIT;
	return event_time(c, word);
}

/* Words behind a gap; *ret_first: how far the first of an event is. */
static u32 words_behind(const struct ring_reader *c, u64 *ret_first)
{
	u32 n = 0;

	*ret_first = 0;
	for (u64 i = 1; i < LOST_WORDS; i++) {
		u64 word = word_get(c, c->tail + i);

		n += word != 0;
		if (!*ret_first && word & TRACK_KIND_MASK)
			*ret_first = i;
	}
	return n;
}

/*
 * Is its writer gone for good? A signal handler that interrupts an event writes behind it, and so
 * does a thread that never returns to one. The first returns, though on a busy machine its thread
 * may have no CPU for long; the second goes on to write.
 */
static bool gap_is_lost(struct ring_reader *c, u32 behind, u64 now_ms)
{
	struct ring_gap *g = &c->gap;

	if (!g->behind || g->at != c->tail) {
		*g = (struct ring_gap){.at = c->tail, .since_ms = now_ms, .behind = behind};
		return false;
	}
	g->grew += behind > g->behind;
	g->behind = behind;
	return g->grew >= GAP_GREW || now_ms - g->since_ms >= GAP_MS ||
	       word_get(c, c->tail + (c->mask + 1) / 2);
}

void ring_reader_unblock(struct ring_reader *c, bool at_once)
{
	u64 now_ms, first;
	u32 behind;

	if (word_get(c, c->tail)) {
		c->quiet_ms = 0;
		return;
	}
	now_ms = clock_mono_ns() / NSEC_PER_MSEC;
	if (!c->quiet_ms)
		c->quiet_ms = now_ms;
	if (!at_once && now_ms - c->quiet_ms < QUIET_MS)
		return;
	c->quiet_ms = now_ms;
	behind = words_behind(c, &first);
	/* Written since, and before what is behind it? Then that is seen by now. */
	if (!first || word_get(c, c->tail))
		return;
	if (!gap_is_lost(c, behind, now_ms) && !at_once)
		return;
	c->process->dropped++;
	words_clear(c, first);
}
