/*
 * A stream of bytes in chunks, so that records can wait in place until it is their turn. A chunk
 * lives as long as it is being filled or somebody holds it. Private to this room. Knows nothing of
 * records but that one is at most 64 KiB long.
 */
#ifndef MEMWHY_PERFDATA_TAPE_H
#define MEMWHY_PERFDATA_TAPE_H

#include "base/util.h"

#define CHUNK_BYTES (1U << 20)

struct chunk {
	u32 holds;
	struct chunk *next; /* of those that are free */
	_Alignas(8) char data[CHUNK_BYTES];
};

struct chunks {
	struct chunk *idle;
	size_t n; /* all there are */
};

struct tape {
	struct chunks *chunks; /* borrowed */
	struct chunk *chunk;   /* being filled, held */
	size_t at, end;        /* in it: not yet used */
	u64 offset;            /* of `at`, from the beginning of the stream */
};

void chunk_hold(struct chunk *c);
void chunk_drop(struct chunks *all, struct chunk *c);
void chunks_free(struct chunks *all);

/* Room for at least as many bytes as are missing to n (at most 64 KiB) at tape_head(): what is
 * there is moved to a new chunk if it must be. Sets how much may be written where. -ENOMEM. */
int tape_room(struct tape *t, size_t n, char **ret, size_t *ret_room);
void tape_wrote(struct tape *t, size_t n);
void tape_used(struct tape *t, size_t n);
void tape_free(struct tape *t);

static inline size_t tape_has(const struct tape *t)
{
	return t->end - t->at;
}

static inline char *tape_head(const struct tape *t)
{
	return t->chunk ? t->chunk->data + t->at : NULL;
}

#endif
