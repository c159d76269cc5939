/*
 * One interval of `top` in a few KiB, so that ten minutes of them fit into little memory and can be
 * passed from the observing to the drawing process: the tables of the view, the findings, and the
 * head of the screen. A stack is its lines of text here. Whoever opens a frame trusts nothing in
 * it.
 */
#ifndef MEMWHY_TOP_INTERVAL_H
#define MEMWHY_TOP_INTERVAL_H

#include "top/top.h"

#define FRAME_MAX (4U << 20)   /* packed */
#define FRAME_OPEN (32U << 20) /* unpacked */

/* An interval as it is drawn. Its texts are in the arena; a stack cell is a text cell here. */
struct scene {
	u64 begin_ns, end_ns; /* CLOCK_MONOTONIC */
	u64 opened_ns;        /* when the session began */
	u64 wall_ns;          /* at end_ns, since 1970; 0: not known */
	u64 lost, cpus;
	const char *kernel, *scope, *command;
	struct table tables[TOP_TABLES];
	VEC(struct finding) findings;
	VEC(const char *) missing; /* what was not looked at, and notes */
	struct arena arena;
};

/* Appends the report, packed. -ENOMEM, -EFBIG. */
int frame_pack(const struct report *r, struct str *out);
/* -EBADMSG: it is none. */
int frame_open(const void *packed, size_t n, struct scene *ret);
/* The same in two steps: the bytes, and what they say. */
int frame_unpack(const void *packed, size_t n, char **ret, size_t *ret_n);
int frame_read(const char *bytes, size_t n, struct scene *ret);
void scene_free(struct scene *s);
/* With texts of its own. */
struct finding finding_copy(struct arena *a, const struct finding *f);

#endif
