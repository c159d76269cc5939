/*
 * Reading a table of aggregates (AGG_TABLE, SUM_TABLE) while it is being counted into, exactly:
 * values only grow, so each drain hands out what was added to a key since the last one. Keys of
 * processes that have ended are removed after they were read, to make room.
 */
#ifndef MEMWHY_CAPTURE_TABLE_H
#define MEMWHY_CAPTURE_TABLE_H

#include <stddef.h>
#include <string.h>

#include "bpf/shared.h"

struct table;

/* What the values of a table are: their first member is a u64 that counts events. A value that
 * changed is handed out, also where its count did not. */
struct table_values {
	size_t size;
	/* Adds what one CPU counted; sum is zeroed before the first. */
	void (*add)(void *sum, const void *cpu);
	/* Takes away what was counted at the last drain. */
	void (*subtract)(void *sum, const void *last);
};

extern const struct table_values table_agg; /* struct agg_value */
extern const struct table_values table_sum; /* struct sum_value */

/* Room for what the kernel hands out in one call, shared by tables that one thread drains one after
 * another. */
struct table_batch {
	char *keys, *values;
	size_t keys_size, values_size;
};

void table_batch_free(struct table_batch *b);

struct table_spec {
	int map; /* descriptor of the table, per CPU or not; must outlive it */
	u32 key_size;
	const struct table_values *values; /* NULL: table_agg */
	/* What was added to a key since the last drain: counts, sums and hist are differences,
	 * max_ns is since the start. */
	int (*added)(void *arg, const void *key, const void *value);
	/*
	 * For events so frequent that a look into the table costs too much: slots, each written by
	 * one CPU for one key, and never given to another. An array that can be mapped (0: none).
	 * A slot is the first slot_key bytes of the key (the others are 0) and the first
	 * slot_sums of the sums; it is in use once its first sum is not 0. The key is in the
	 * table too, for the rest of its value.
	 */
	int slots;
	u32 slot_key, slot_sums;
	void *arg;
	u32 (*tgid)(const void *key);  /* NULL: keys are never removed */
	struct table_batch *batch;     /* outlives it; NULL: keys are read one by one */
	const struct capture *capture; /* asked whether to leave; NULL: a drain reads all keys */
};

/* A process id that is the first member of a key, for table_spec.tgid. */
u32 table_key_tgid(const void *key);
/* Members that records have of a struct agg_value under the same names. */
#define table_take_times(r_, v_)                                    \
	({                                                          \
		(r_)->count = (v_)->count;                          \
		(r_)->total_ns = (v_)->total_ns;                    \
		(r_)->max_ns = (v_)->max_ns;                        \
		memcpy((r_)->hist, (v_)->hist, sizeof((r_)->hist)); \
	})

int table_open(const struct table_spec *spec, struct table **ret);
/* 0, or what `added` returned first, or -errno. What it leaves (capture_leaves) the next one has.
 */
int table_drain(struct table *t);
/* Keys that the last drain left. */
u32 table_keys(const struct table *t);
/* Keys that there is room for, as of the last drain. */
u32 table_room(const struct table *t);
/* Events handed out so far. */
u64 table_delivered(const struct table *t);
void table_close(struct table *t);

#endif
