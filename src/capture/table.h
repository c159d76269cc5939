/*
 * Reading a table of aggregates (AGG_TABLE, SUM_TABLE) while it is being counted into, exactly:
 * values only grow, so each drain hands out what was added to a key since the last one. Keys of
 * processes that have ended are removed after they were read, to make room.
 */
#ifndef MEMWHY_CAPTURE_TABLE_H
#define MEMWHY_CAPTURE_TABLE_H

#include <stddef.h>

#include "bpf/shared.h"

struct table;

/* What the values of a table are: their first member is a u64 that counts events. */
struct table_values {
	size_t size;
	/* Adds what one CPU counted; sum is zeroed before the first. */
	void (*add)(void *sum, const void *cpu);
	/* Takes away what was counted at the last drain. */
	void (*subtract)(void *sum, const void *last);
};

extern const struct table_values table_agg; /* struct agg_value */
extern const struct table_values table_sum; /* struct sum_value */

struct table_spec {
	int map; /* descriptor of the table, per CPU or not; must outlive it */
	u32 key_size;
	const struct table_values *values; /* NULL: table_agg */
	/* What was added to a key since the last drain: counts, sums and hist are differences,
	 * max_ns is since the start. */
	int (*added)(void *arg, const void *key, const void *value);
	void *arg;
	u32 (*tgid)(const void *key); /* NULL: keys are never removed */
};

int table_open(const struct table_spec *spec, struct table **ret);
/* 0, or what `added` returned first, or -errno. */
int table_drain(struct table *t);
/* Events handed out so far. */
u64 table_delivered(const struct table *t);
void table_close(struct table *t);

#endif
