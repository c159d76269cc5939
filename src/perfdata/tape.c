/* See tape.h. */
#include "perfdata/tape.h"

#include <errno.h>
#include <string.h>

#define IDLE_MAX 4 /* chunks kept for the next use */

void chunk_hold(struct chunk *c)
{
	c->holds++;
}

void chunk_drop(struct chunks *all, struct chunk *c)
{
	if (--c->holds)
		return;
	if (all->idle && all->idle->holds >= IDLE_MAX) {
		free(c);
		all->n--;
		return;
	}
	c->next = all->idle;
	c->holds = all->idle ? all->idle->holds + 1 : 1; /* of an idle one: how many there are */
	all->idle = c;
}

static struct chunk *chunk_get(struct chunks *all)
{
	struct chunk *c = all->idle;

	if (c) {
		all->idle = c->next;
	} else {
		c = malloc(sizeof(*c));
		if (!c)
			return NULL;
		all->n++;
	}
	c->holds = 1;
	c->next = NULL;
	return c;
}

void chunks_free(struct chunks *all)
{
	while (all->idle) {
		struct chunk *c = all->idle;

		all->idle = c->next;
		free(c);
		all->n--;
	}
}

/* The rest goes to the beginning of a chunk: of this one, if nobody else holds it. */
static int tape_turn(struct tape *t)
{
	bool alone = t->chunk && t->chunk->holds == 1;
	struct chunk *c = alone ? t->chunk : chunk_get(t->chunks);

	if (!c)
		return -ENOMEM;
	if (tape_has(t))
		memmove(c->data, tape_head(t), tape_has(t));
	if (t->chunk && !alone)
		chunk_drop(t->chunks, t->chunk);
	t->chunk = c;
	t->end -= t->at;
	t->at = 0;
	return 0;
}

int tape_room(struct tape *t, size_t n, char **ret, size_t *ret_room)
{
	int rc;

	if (!t->chunk || t->at + n > CHUNK_BYTES || t->end == CHUNK_BYTES) {
		rc = tape_turn(t);
		if (rc)
			return rc;
	}
	*ret = t->chunk->data + t->end;
	*ret_room = CHUNK_BYTES - t->end;
	return 0;
}

void tape_wrote(struct tape *t, size_t n)
{
	t->end += n;
}

void tape_used(struct tape *t, size_t n)
{
	t->at += n;
	t->offset += n;
}

void tape_free(struct tape *t)
{
	if (t->chunk)
		chunk_drop(t->chunks, t->chunk);
	t->chunk = NULL;
}
