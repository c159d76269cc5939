/*
 * The frames that can be gone back to: ten minutes of a live session, all of a recording as far as
 * room allows. Owns them, and the few numbers of each that are looked at without opening it.
 */
#ifndef MEMWHY_TOP_HISTORY_H
#define MEMWHY_TOP_HISTORY_H

#include "base/vec.h"
#include "top/interval.h"

#define HISTORY_NS (600ULL * 1000000000)
#define HISTORY_BYTES (12U << 20)

struct history_value {
	u32 key;
	float value;
};

/* So many intervals that follow one another are packed as one, once they are older than those that
 * trends look at: they have most of their bytes in common. */
#define HISTORY_TOGETHER 8
#define HISTORY_ALONE 16

struct history_block {
	size_t refs, n;
	char packed[];
};

struct history_frame {
	char *packed; /* NULL: it is in the block */
	size_t n;     /* bytes of it */
	struct history_block *block;
	size_t at; /* where in the bytes of the block; n: how many */
	u64 end_ns, wall_ns;
	u64 rules; /* a bit for each rule with a finding, by the hash of its name */
	struct history_value *values; /* by key: of one column of one table */
	size_t n_values, column;
	enum top_table which;
};

struct history {
	VEC(struct history_frame) list;
	size_t bytes;
	size_t together; /* so many from the beginning are in blocks */
	size_t gone;     /* frames that were let go, from the beginning */
	bool all;        /* a recording: thinned out where there are too many, not cut */
};

/* -EBADMSG, -ENOMEM. */
int history_open(const struct history *h, size_t i, struct scene *ret);
/* Takes a copy of a frame and what it says, which is opened by the caller. -ENOMEM. */
int history_add(struct history *h, const void *packed, size_t n, const struct scene *s);
/* What identifies a line of a table: its pid; for control groups and users the hash of the name. */
u32 history_key(const struct table *t, size_t row);
/* The values of frame i become those of the column; nothing, where it is not what `s` shows. */
void history_column(
	struct history *h, size_t i, const struct scene *s, enum top_table which, size_t column);
/* A number of such a line in frame i; NAN: not known. The values of the frame become those of the
 * column, for which it is opened. */
double history_value(struct history *h, size_t i, enum top_table which, u32 key, size_t column);
/* A cell as a number; NAN: it is none. */
double history_number(const struct cell *c);
/* The frame that shows this time (CLOCK_MONOTONIC): the last one that begins before. */
size_t history_find(const struct history *h, u64 end_ns);
/* The next frame (step 1, or -1: before) from `at` in which a rule speaks that was silent in the
 * frame before it; `at` where there is none. */
size_t history_next_finding(const struct history *h, size_t at, int step);
void history_free(struct history *h);

#endif
