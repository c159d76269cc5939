/*
 * Reading a table of aggregates (AGG_TABLE) while it is being counted into, exactly: values only
 * grow, so each drain hands out what was added to a key since the last one. Keys of processes
 * that have ended are removed after they were read, to make room.
 */
#ifndef MEMWHY_CAPTURE_TABLE_H
#define MEMWHY_CAPTURE_TABLE_H

#include "bpf/shared.h"

struct table;

struct table_spec {
	int map; /* descriptor of the AGG_TABLE; must outlive the table */
	u32 key_size;
	/* What was added to a key since the last drain: counts, sums and hist are differences,
	 * max_ns is since the start. */
	int (*added)(void *arg, const void *key, const struct agg_value *v);
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
