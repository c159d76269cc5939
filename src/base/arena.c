/* See arena.h. */
#include "base/arena.h"

#include <string.h>

#define ARENA_CHUNK (64UL << 10)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size; /* of data */
	char data[] __attribute__((aligned(16)));
};

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;
	struct arena_chunk *c = a->head;

	if (need < size)
		return NULL;
	if (!c || c->size - a->used < need) {
		size_t data = MAX(need, ARENA_CHUNK);

		c = calloc(1, sizeof(*c) + data);
		if (!c)
			return NULL;
		c->size = data;
		c->next = a->head;
		a->head = c;
		a->used = 0;
	}
	a->used += need;
	return c->data + a->used - need;
}

char *arena_strndup(struct arena *a, const char *text, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (p)
		memcpy(p, text, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *text)
{
	return arena_strndup(a, text, strlen(text));
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_chunk *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	a->used = 0;
}
