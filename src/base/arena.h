/* Memory that is freed all at once: the strings and frames of one report or stream. */
#ifndef MEMWHY_BASE_ARENA_H
#define MEMWHY_BASE_ARENA_H

#include "base/util.h"

struct arena {
	struct arena_chunk *head;
	size_t used; /* bytes used of the head chunk */
};

/* Zeroed memory aligned to 16 bytes, or NULL when there is none. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strndup(struct arena *a, const char *text, size_t n);
char *arena_strdup(struct arena *a, const char *text);
void arena_free(struct arena *a);

#endif
