/*
 * Records that wait for their turn. perf reads the buffers of the CPUs round after round, and
 * marks the end of each: what a round brings is not older than the newest of the round before
 * that. So what is as old as that can go. Private to this room.
 */
#ifndef MEMWHY_PERFDATA_ORDER_H
#define MEMWHY_PERFDATA_ORDER_H

#include "base/vec.h"
#include "perfdata/tape.h"

/* Where a record is; the chunk is held. */
struct entry {
	u64 time;
	struct chunk *chunk;
	u64 offset; /* in the file */
	u32 at;     /* in the chunk */
};

struct order {
	VEC(struct entry) list;
	size_t head;  /* the next to go */
	size_t ready; /* those before it may go */
	struct entry *spare;
	size_t spare_cap;
	u64 newest; /* of all put */
	u64 limit;  /* newest when the last round ended */
};

/* -ENOMEM: not taken. */
int order_put(struct order *o, const struct entry *e);
/* A round has ended; there is no more; half of them must go, for want of memory. -ENOMEM. */
int order_round(struct order *o);
int order_all(struct order *o);
int order_half(struct order *o);
/* False: nothing may go yet. */
bool order_take(struct order *o, struct entry *ret);
/* Bytes that this takes, without the chunks. */
size_t order_bytes(const struct order *o);
/* Drops what waits. */
void order_free(struct order *o, struct chunks *chunks);

static inline size_t order_waiting(const struct order *o)
{
	return o->list.n - o->head;
}

#endif
