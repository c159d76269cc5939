/* See groups.h. */
#include "base/groups.h"

#include <string.h>
#include <xxhash.h>

#define ROOM_KEPT 1024 /* entries */

static size_t value_offset(const struct groups *g)
{
	return (g->key_size + 7) & ~(size_t)7;
}

static size_t entry_size(const struct groups *g)
{
	return value_offset(g) + ((g->value_size + 7) & ~(size_t)7);
}

void groups_init(struct groups *g, size_t key_size, size_t value_size)
{
	*g = (struct groups){.key_size = key_size, .value_size = value_size};
}

const void *groups_key(const struct groups *g, size_t i)
{
	return g->entries + i * entry_size(g);
}

void *groups_value(const struct groups *g, size_t i)
{
	return g->entries + i * entry_size(g) + value_offset(g);
}

/* The place of a key in the index: of its entry, or the free one where it belongs. */
static size_t index_of(const struct groups *g, const void *key)
{
	size_t at = XXH3_64bits(key, g->key_size) & (g->n_index - 1);

	while (g->index[at] && memcmp(groups_key(g, g->index[at] - 1), key, g->key_size))
		at = (at + 1) & (g->n_index - 1);
	return at;
}

void *groups_find(const struct groups *g, const void *key)
{
	u32 e = g->n_index ? g->index[index_of(g, key)] : 0;

	return e ? groups_value(g, e - 1) : NULL;
}

static void index_fill(struct groups *g)
{
	memset(g->index, 0, g->n_index * sizeof(*g->index));
	for (size_t i = 0; i < g->n; i++)
		g->index[index_of(g, groups_key(g, i))] = (u32)i + 1;
}

static int groups_grow(struct groups *g)
{
	size_t cap = g->cap ? g->cap * 2 : 32;
	char *entries = reallocarray(g->entries, cap, entry_size(g));
	u32 *index;

	if (!entries)
		return -1;
	g->entries = entries;
	index = malloc(cap * 2 * sizeof(*index));
	if (!index)
		return -1;
	free(g->index);
	g->index = index;
	g->cap = cap;
	g->n_index = cap * 2;
	index_fill(g);
	return 0;
}

/* Gives room back that is not wanted any more: what one busy moment took is not kept for ever. */
static void groups_shrink(struct groups *g, size_t wanted)
{
	size_t cap = g->cap;
	u32 *index;
	char *entries;

	while (cap > ROOM_KEPT && cap / 4 >= wanted)
		cap /= 2;
	index = cap < g->cap ? malloc(cap * 2 * sizeof(*index)) : NULL;
	if (!index)
		return;
	free(g->index);
	g->index = index;
	g->n_index = cap * 2;
	g->cap = cap;
	entries = realloc(g->entries, cap * entry_size(g));
	if (entries)
		g->entries = entries;
}

/* The entry of a key, where it is the one after that which was asked for last: samples come in the
 * same order each time. */
static bool is_next(struct groups *g, const void *key)
{
	if (g->next >= g->n)
		g->next = 0;
	return g->n && !memcmp(groups_key(g, g->next), key, g->key_size);
}

void *groups_get(struct groups *g, const void *key)
{
	char *entry;
	u32 e;

	if (is_next(g, key))
		return groups_value(g, g->next++);
	e = g->n_index ? g->index[index_of(g, key)] : 0;
	g->next = e ? e : g->n + 1;
	if (e)
		return groups_value(g, e - 1);
	if (g->n == g->cap && groups_grow(g))
		return NULL;
	entry = g->entries + g->n * entry_size(g);
	memset(entry, 0, entry_size(g));
	memcpy(entry, key, g->key_size);
	g->index[index_of(g, key)] = (u32)++g->n;
	return groups_value(g, g->n - 1);
}

void groups_filter(
	struct groups *g, bool (*keep)(void *arg, const void *key, const void *value), void *arg)
{
	size_t kept = 0, size = entry_size(g);

	for (size_t i = 0; i < g->n; i++)
		if (keep(arg, groups_key(g, i), groups_value(g, i)))
			memmove(g->entries + kept++ * size, g->entries + i * size, size);
	g->n = kept;
	groups_shrink(g, kept);
	if (g->index)
		index_fill(g);
}

void groups_clear(struct groups *g)
{
	groups_shrink(g, g->n);
	g->n = 0;
	if (g->index)
		memset(g->index, 0, g->n_index * sizeof(*g->index));
}

void groups_free(struct groups *g)
{
	free(g->entries);
	free(g->index);
	groups_init(g, g->key_size, g->value_size);
}
