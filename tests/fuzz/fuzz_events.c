/*
 * Fuzzes what reads the events of a heap out of a recording: chunks of code of a few processes, in
 * any order. Whatever they say, the sums are those of what was read, and memory is bounded. The
 * input is, for each chunk: its process, a byte that spoils what is said to be before it, its
 * length, and its bytes.
 */
#include <stdint.h>
#include <string.h>

#include "probes/heap/events/event_replay.h"
#include "probes/heap/heap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES (64ULL << 20)
#define PROCESSES 3

static void check(int right)
{
	if (!right)
		abort();
}

/* What is live of all stacks of a process is what is live of it. */
struct sums {
	u64 blocks[PROCESSES], site_blocks[PROCESSES];
};

static int put(void *arg, const struct rec *r)
{
	struct sums *s = arg;

	if (r->kind == REC_HEAP_TOTAL) {
		const struct heap_total *t = (const struct heap_total *)r;

		check(t->allocations == t->frees + t->overwritten + t->live_blocks);
		check(t->peak_blocks <= t->allocations);
		s->blocks[t->process] = t->live_blocks;
	} else if (r->kind == REC_HEAP_SITE) {
		const struct heap_site *t = (const struct heap_site *)r;

		s->site_blocks[t->process] += t->live_blocks;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rec session = {.size = sizeof(session), .kind = REC_SESSION, .time_ns = 1};
	u64 before[PROCESSES] = {};
	struct event_replay *r;
	struct sums sums = {};

	check(!event_replay_open(0, UINT64_MAX, MOST_BYTES, put, &sums, &r));
	check(!event_replay_feed(r, &session));
	while (size > 4) {
		u32 process = data[0] % PROCESSES;
		size_t n = MIN((size_t)(data[2] | data[3] << 8), size - 4);
		size_t room = (sizeof(struct heap_events) + n + 7) & ~7UL;
		struct heap_events *e = calloc(1, room);

		check(e != NULL);
		*e = (struct heap_events){
			.h = {.size = (u32)room, .kind = REC_HEAP_EVENTS},
			.process = process,
			.before = before[process] + (data[1] > 250),
			.bytes = (u32)n,
		};
		memcpy(e->code, data + 4, n);
		/* the number of events comes first, seven bits a byte */
		for (size_t i = 0; i < n && i < 9; i++) {
			before[process] += (u64)(data[4 + i] & 127) << 7 * i;
			if (data[4 + i] < 128)
				break;
		}
		check(!event_replay_feed(r, &e->h));
		free(e);
		data += 4 + n;
		size -= 4 + n;
	}
	check(!event_replay_report(r));
	for (u32 i = 0; i < PROCESSES; i++)
		check(sums.blocks[i] == sums.site_blocks[i]);
	event_replay_close(r);
	return 0;
}
