/*
 * Fuzzes the reader of what a tracked program writes. The program has the file in its memory and
 * may have gone wild: any word may be anything, at any time. The worst it may do is to spoil its
 * own account, whose sums must add up all the same; and what is recorded of its events must lead to
 * that account again. The input is a list of what it writes, and of when the reader looks.
 */
#include <stdint.h>
#include <string.h>

#include "probes/heap/collect/ring_reader.h"
#include "probes/heap/events/event_replay.h"
#include "probes/heap/events/event_writer.h"
#include "probes/heap/heap_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SLOTS 40

struct input {
	const uint8_t *at;
	size_t left;
};

struct world {
	struct tracked_program *program;
	VEC(struct heap_process *) processes;
	news_buffer news;
	u64 now_ms;
	u64 written[SLOTS]; /* words, as the program would count them */
	block_lookup_buffer told;
	u64 asked, held, gone; /* accesses; blocks told of, and that they went */
	struct event_replay *replay;
	VEC(struct heap_total) replayed;
};

static u64 take(struct input *in, size_t bytes)
{
	u64 v = 0;

	for (; bytes && in->left; bytes--, in->left--)
		v = v << 8 | *in->at++;
	return v;
}

static void check(int right)
{
	if (!right)
		abort();
}

static struct heap_process *found(struct tracked_program *program, u32 index, void *arg)
{
	struct heap_process *p = calloc(1, sizeof(*p));
	struct world *w = arg;

	if (!p || vec_push(&w->processes, p))
		abort();
	p->id = (u32)w->processes.n;
	p->index = index;
	p->program = program->id;
	p->pidfd = -1;
	p->foreign = true; /* nobody is asked for pids that the input made up */
	p->start_ns = w->now_ms * 1000000;
	p->touched = block_lookup_new(&w->told, 0);
	if (event_writer_open(p->id, p->program, &p->events))
		abort();
	return p;
}

static int replayed_put(void *arg, const struct rec *r)
{
	struct world *w = arg;

	return r->kind == REC_HEAP_TOTAL ? vec_push(&w->replayed, *(const struct heap_total *)r)
					 : 0;
}

/* As heap_names.c makes a record of it. */
static void events_take(struct world *w, const struct news *n)
{
	size_t size = sizeof(struct heap_events) + n->words * sizeof(u64);
	struct heap_events *e = calloc(1, size);

	check(e && n->words >= 2 && n->v[1] <= (n->words - 2) * sizeof(u64));
	check(size <= REC_MAX_SIZE);
	*e = (struct heap_events){
		.h = {.size = (u32)size, .kind = REC_HEAP_EVENTS},
		.process = n->process,
		.program = n->program,
		.before = n->v[0],
		.bytes = (u32)n->v[1],
	};
	memcpy(e->code, &n->v[2], e->bytes);
	check(!event_replay_feed(w->replay, &e->h));
	free(e);
}

/* What was recorded leads to the same sums. */
static void replay_check(struct world *w)
{
	check(!event_replay_damaged(w->replay));
	check(!event_replay_report(w->replay));
	vec_each (t, &w->replayed) {
		const struct account *a = &w->processes.v[t->process - 1]->account;

		check(t->allocations == a->allocations && t->bytes == a->bytes);
		check(t->frees == a->frees && t->unknown_frees == a->unknown_frees);
		check(t->live_blocks == a->live_blocks && t->live_bytes == a->live_bytes);
		check(t->peak_blocks == a->peak_blocks && t->peak_bytes == a->peak_bytes);
		check(t->temporary == a->temporary && t->moved == a->moved);
		check(t->overwritten == a->overwritten && t->threads == a->threads.n);
	}
}

/* What collector_news() hands on has to be whole, else who names it runs off its end. */
static void news_check(struct world *w)
{
	size_t at = 0;

	while (at < w->news.n) {
		const struct news *n = (const struct news *)&w->news.v[at];

		check(w->news.n - at >= sizeof(*n) / sizeof(u64));
		at += sizeof(*n) / sizeof(u64) + n->words;
		check(n->process && n->process <= w->processes.n);
		if (n->kind == NEWS_EVENTS)
			events_take(w, n);
	}
	check(at == w->news.n);
	w->news.n = 0;
}

static void account_check(struct account *a)
{
	u64 allocations = 0, frees = 0, live = 0, bytes = 0;

	check(a->allocations == a->frees + a->overwritten + a->live_blocks);
	check(a->peak_bytes >= a->live_bytes);
	account_settle_all(a);
	vec_each (s, &a->sites) {
		allocations += s->allocations;
		frees += s->frees;
		live += s->live_blocks;
		bytes += s->live_bytes;
		check(s->temporary <= s->frees && s->moved <= s->allocations);
	}
	check(allocations == a->allocations && frees == a->frees);
	check(live == a->live_blocks && bytes == a->live_bytes);
}

static void mappings_check(struct mappings *m)
{
	u64 live = 0, mapped = 0, unmapped = 0;

	for (size_t i = 0; i < m->sites.n; i++) {
		const struct mapping_site *s = groups_value(&m->sites, i);

		check(s->mapped - s->unmapped == s->live);
		live += s->live;
		mapped += s->mapped;
		unmapped += s->unmapped;
	}
	check(live == m->live && mapped == m->mapped && unmapped == m->unmapped);
	check(m->peak_bytes >= m->live);
}

static void word_put(struct world *w, u32 slot, u64 word)
{
	struct tracked_program *i = w->program;
	u32 grown = i->readers[slot] ? i->readers[slot]->grown : slot ? 0 : i->rings.main;
	u64 *ring = (u64 *)((char *)i->head + track_ring_offset(slot, grown));

	ring[w->written[slot]++ & (track_words(slot, grown) - 1)] = word;
}

/* Near to what the library writes: few addresses, few stacks. */
static void event_put(struct world *w, u32 slot, struct input *in)
{
	u64 kind = take(in, 1), address = 0x550000000000 + (take(in, 1) << 4), n;
	u64 time = kind & 8 ? take(in, 2) << 48 : 0;

	switch (kind & TRACK_KIND_MASK) {
	case TRACK_ALLOC:
	case TRACK_MOVED:
		word_put(w, slot, time | address | (kind & TRACK_KIND_MASK));
		word_put(w, slot,
			take(in, 1) << TRACK_STACK_SHIFT | take(in, 2) << TRACK_SIZE_SHIFT);
		break;
	case TRACK_STACK:
		n = take(in, 1);
		word_put(w, slot,
			take(in, 3) << TRACK_VALUE_SHIFT | n << TRACK_ARG_SHIFT | TRACK_STACK);
		for (; n && in->left; n--)
			word_put(w, slot, take(in, 1) << TRACK_ARG_SHIFT);
		break;
	case TRACK_EXTRA:
		if (kind >> 4 == TRACK_MAPPING) {
			word_put(w, slot,
				time | take(in, 1) << TRACK_VALUE_SHIFT |
					TRACK_MAPPING << TRACK_ARG_SHIFT | TRACK_EXTRA);
			word_put(w, slot, take(in, 1) << 12);
			word_put(w, slot, take(in, 1) << 12 << TRACK_ARG_SHIFT);
			word_put(w, slot, take(in, 1) << TRACK_ARG_SHIFT);
			break;
		}
		n = take(in, 2);
		word_put(w, slot,
			n << TRACK_VALUE_SHIFT | (kind >> 4) << TRACK_ARG_SHIFT | TRACK_EXTRA);
		break;
	default:
		word_put(w, slot, time | address | (kind & TRACK_KIND_MASK));
	}
}

static void slot_put(struct world *w, u32 slot, struct input *in)
{
	struct track_slot *s = &w->program->head->slot[slot];

	s->process = (u32)take(in, 1) % 4 ? (u32)take(in, 1) % 3 : (u32)take(in, 4);
	s->tid = (u32)take(in, 1);
	s->dropped = (u32)take(in, 1);
	s->state = (u32)take(in, 1) % 4;
	s->full = (u32)take(in, 1) % 4;
	if (w->program->readers[slot])
		s->turned = s->full ? w->program->readers[slot]->given : (u32)take(in, 4);
	w->program->head->slots = (u32)take(in, 1) % 8 ? SLOTS : (u32)take(in, 4);
}

/* What is told of a block was asked for. */
static void access_ask(struct world *w, struct input *in)
{
	struct touch t = {.address = 0x550000000000 + take(in, 2), .time_ns = take(in, 4)};
	struct heap_process *p = w->program->processes[take(in, 1) % 3];
	struct heap_process *parent = w->program->processes[take(in, 1) % 3];

	if (p)
		check(!block_lookup_ask(p, parent, (u32)take(in, 1), &t));
	w->asked += p != NULL;
	vec_each (b, &w->told) {
		w->held += b->what == TOUCHED_HELD;
		w->gone += b->what == TOUCHED_FREED;
	}
	w->told.n = 0;
	check(w->held <= w->asked && w->gone <= w->held);
}

static void step(struct world *w, struct input *in)
{
	u64 op = take(in, 1);
	u32 slot = (u32)take(in, 1) % SLOTS, index;

	switch (op % 13) {
	case 0:
		slot_put(w, slot, in);
		break;
	case 1:
		w->program->head->slot[slot].tail = take(in, 8);
		break;
	case 2:
		word_put(w, slot, take(in, 8));
		break;
	case 3:
		w->written[slot] += take(in, 1); /* an event that is never finished */
		break;
	case 4:
		check(tracked_read(w->program, w->now_ms += take(in, 1), &w->news) >= 0);
		news_check(w);
		break;
	case 5:
		check(!tracked_sweep(w->program, w->now_ms, &w->news));
		break;
	case 6:
		index = (u32)take(in, 1) % 3;
		if (w->program->processes[index])
			check(!tracked_end(
				w->program, w->program->processes[index], w->now_ms, &w->news));
		break;
	case 7:
		access_ask(w, in);
		break;
	case 8:
		w->program->held = take(in, 1) & 1;
		w->program->until = take(in, 8);
		break;
	default:
		event_put(w, slot, in);
	}
}

static void world_close(struct world *w)
{
	for (u32 i = 0; i < TRACK_PROCESSES; i++)
		if (w->program->processes[i])
			check(!tracked_end(
				w->program, w->program->processes[i], w->now_ms, &w->news));
	news_check(w);
	replay_check(w);
	event_replay_close(w->replay);
	vec_free(&w->replayed);
	vec_each (p, &w->processes) {
		account_check(&(*p)->account);
		account_free_all(&(*p)->account);
		mappings_check(&(*p)->mappings);
		mappings_free(&(*p)->mappings);
		block_lookup_free_all((*p)->touched);
		vec_free(&(*p)->readers);
		vec_free(&(*p)->names);
		free(*p);
	}
	tracked_close(w->program);
	vec_free(&w->processes);
	vec_free(&w->news);
	vec_free(&w->told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct world w = {.now_ms = 1000};
	int file;

	if (tracked_open(1, getpid(), 0, false, &w.program, &file))
		return 0;
	check(!event_replay_open(0, UINT64_MAX, UINT64_MAX, replayed_put, &w, &w.replay));
	close(file);
	w.program->found = found;
	w.program->arg = &w;
	/* One thread of one process, for a start. */
	w.program->head->slot[0].state = TRACK_TAKEN;
	w.program->head->slots = 1;
	while (in.left)
		step(&w, &in);
	check(tracked_read(w.program, w.now_ms, &w.news) >= 0);
	world_close(&w);
	return 0;
}
