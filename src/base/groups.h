/*
 * Sums by key: the accumulator behind every "by process", "by stack" table. Keys and values are
 * plain bytes of fixed size; values start zeroed; iteration is in the order of first sight.
 */
#ifndef MEMWHY_BASE_GROUPS_H
#define MEMWHY_BASE_GROUPS_H

#include "base/util.h"

struct groups {
	size_t key_size, value_size;
	char *entries; /* n of: key, then value at an 8-byte boundary */
	u32 *index;    /* entry + 1 by hash; a power of two of them */
	size_t n, cap, n_index;
	size_t next; /* of entries: the one after that which was asked for last */
};

void groups_init(struct groups *g, size_t key_size, size_t value_size);
/* The value of a key, made when there is none; valid until the next call. NULL: no memory. */
void *groups_get(struct groups *g, const void *key);
/* As groups_get, but NULL when there is none. */
void *groups_find(const struct groups *g, const void *key);
const void *groups_key(const struct groups *g, size_t i);
void *groups_value(const struct groups *g, size_t i);
/* Leaves those for which keep() is true, in their order. Both give room back that is a multiple of
 * what there is, groups_clear of what there was. */
void groups_filter(
	struct groups *g, bool (*keep)(void *arg, const void *key, const void *value), void *arg);
void groups_clear(struct groups *g);
void groups_free(struct groups *g);

#endif
