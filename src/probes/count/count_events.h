/*
 * What can be counted, and where its fields are: operands, with globs, made into events; names of
 * fields made into places in an event's record. Attaches nothing.
 */
#ifndef MEMWHY_PROBES_COUNT_EVENTS_H
#define MEMWHY_PROBES_COUNT_EVENTS_H

#include "base/err.h"
#include "base/vec.h"
#include "capture/clone.h"
#include "probes/count/count_filter.h"
#include "sys/kernel/tracefs.h"

#define EVENT_NAME 320

struct event {
	char name[EVENT_NAME]; /* as it is shown: "kmem:kmalloc", "page-faults", "u:/bin/sh:main" */
	u8 how;                /* enum clone_how */
	bool returns;
	char category[TRACEPOINT_NAME_MAX];
	char what[EVENT_NAME]; /* tracepoint, function or file */
	u64 number;            /* of a software event; offset in a file */
	u64 hz;
	struct tracepoint_format format; /* of a tracepoint, once asked for */
};

struct event_list {
	VEC(struct event) list;
	char dir[PATH_MAX];    /* of tracefs, once needed; "" before */
	u32 pid;               /* files of uprobes are those of this process; 0: ours */
	struct reader *reader; /* of these files, borrowed; NULL: one is begun for each */
};

/*
 * Adds what an operand stands for; what is there already is not added twice. -EINVAL: there is no
 * such event (err has the nearest), -EOPNOTSUPP: no tracefs, -EACCES: it is closed to us.
 */
int event_list_add(struct event_list *all, const char *operand, struct err *err);
void event_list_free(struct event_list *all);

/* The place of a field, or of what every event has (pid, comm, …; not "stack"), and how it is
 * shown. "args.NAME" is the event's own where both are. */
int event_source(struct event_list *all, struct event *e, const char *name,
	struct count_source *ret, u8 *ret_show, struct err *err);
/* Calls fn with each name the kernel prints for values of a field; returns enum print_fmt_kind. */
int event_names(const struct event_list *all, const struct event *e, const char *field,
	int (*fn)(void *arg, u64 value, const char *name), void *arg);
/* Is the name one that every event has? */
u8 event_common(const char *name);
/* A comparison of the filter, for this event. */
int event_test(struct event_list *all, struct event *e, const struct filter_test *t,
	struct count_test *ret, struct err *err);

#endif
