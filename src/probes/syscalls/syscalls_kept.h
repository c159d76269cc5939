/*
 * Single calls as rows: those of --each, and those that --flight kept, dump by dump. What they are
 * fed is as long as its text, so they keep it byte by byte.
 */
#ifndef MEMWHY_PROBES_SYSCALLS_KEPT_H
#define MEMWHY_PROBES_SYSCALLS_KEPT_H

#include "probes/syscalls/syscalls.h"
#include "report/view.h"

/* Calls, one after the other. */
struct call_list {
	VEC(u64) words;
	size_t n;
};

int call_list_add(struct call_list *l, const struct syscalls_call *c);
/* The call after `at`, which is 0 for the first and moves on; NULL: there is none. */
const struct syscalls_call *call_list_next(const struct call_list *l, size_t *at);
void call_list_clear(struct call_list *l);
void call_list_free(struct call_list *l);

/* The dumps since the last report. */
struct dump_list {
	VEC(struct syscalls_dump) dumps;
	VEC(size_t) calls; /* of each dump, that are in the list */
	struct call_list list;
	u32 before; /* dumps of earlier reports */
	bool due;   /* one of them was not asked for */
	bool waits; /* for what --dump-on names */
};

int dump_list_feed(struct dump_list *l, const struct rec *r);
int dump_list_report(struct dump_list *l, struct report *r);
void dump_list_reset(struct dump_list *l);
void dump_list_free(struct dump_list *l);

struct table *calls_each(struct call_list *l, struct report *r, bool memory);
/* The lines of strace -f -t -T. */
void strace_lines(struct call_list *l, struct report *r, struct str *out);

extern const struct view_table syscalls_kept_tables[];

#endif
