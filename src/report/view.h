/*
 * A view: what a command makes of the stream. It is fed the records of a live session or of a
 * file alike, keeps sums of ids, and only when it fills a report asks the stream for names.
 */
#ifndef MEMWHY_REPORT_VIEW_H
#define MEMWHY_REPORT_VIEW_H

#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "report/report.h"

/*
 * --like: the lines of an older tool, for scripts and habits. Text from the system goes through
 * str_add_escaped.
 */
struct look {
	const char *name; /* "drsnoop" */
	const char *head; /* what the tool prints first, without the last newline; NULL: nothing */
	u64 every_ns;     /* it prints sums each such time; 0: a line an event (implies --each) */
	/* Appends lines: for the single events fed since the last call or, with every_ns, for all
	 * that was fed since init or reset. */
	void (*lines)(void *v, struct report *r, struct str *out);
	const char *stacks; /* --stacks that it implies; NULL: none */
};

#define LOOK_AT_END (1ULL << 62) /* every_ns of a tool that prints its sums when it ends */

struct view_options {
	const char *by; /* --by, NULL: the view's own */
	bool each;
	u64 min_ns;
	bool stacks;
	/* A part of the recording, since its session began; both 0: all of it. */
	u64 from_ns, to_ns;
	u64 most_bytes;          /* what a view may take to read such a part back */
	const void *opts;        /* the probe's own options, for OPTS_OF; NULL: none was given */
	const struct look *look; /* NULL: the house's own */
	char *const *operands;   /* words after the command's name */
	u32 n_operands;
};

/* The columns of one of a view's tables, for the man page and its check. Ends with a NULL name. */
struct view_table {
	const char *name;
	const struct column *cols;
	size_t n_cols;
	size_t stride; /* bytes from one column to the next */
};

/* Single events that took less are left out: all of them, where none is shown. */
static inline u64 view_min_ns(const struct view_options *o)
{
	return o->each ? o->min_ns : UINT64_MAX;
}

struct view {
	size_t size; /* of its state, zeroed before init */
	const char *by_default;
	/* What --stacks is where neither it nor --by is given, for probes that cannot tell a place
	 * without (capture_options.few_stacks); NULL: none. */
	const char *stacks_default;
	bool stacks_with_by;        /* … also where --by is given: they name what is shown */
	const char *const *by_keys; /* what --by takes, NULL-terminated; NULL: no --by */
	bool by_fields;             /* --by also takes names of fields of the events */
	const struct view_table *const *tables; /* sets of them, NULL-terminated */
	/* Columns of a table that it never has, a bit each; NULL: none. For documentation. */
	u64 (*without)(const struct view_table *t);
	const struct look *looks; /* what --like takes; ends with a NULL name; NULL: none */
	/* It chooses the part of a recording that --from and --to mean by itself, event by event,
	 * of what was recorded with these words; NULL: that is done before it. */
	const char *parts_with;
	/* The interval where -i is not given; NULL or 0: none. */
	u64 (*every_ns)(const struct view_options *o);
	/* How long to run where neither --for nor a command says so; NULL or 0: until told to end.
	 */
	u64 (*for_ns)(const struct view_options *o);
	int (*init)(void *v, const struct view_options *o, struct err *err);
	/* Records of kinds it does not know are to be ignored. */
	int (*feed)(void *v, const struct rec *r);
	/* Adds tables, notes and findings for what was fed since init or reset. */
	int (*report)(void *v, struct report *r);
	/*
	 * --each: appends rows for the single events fed since the last call to the one table it
	 * returns, whose earlier rows it may have dropped. NULL: the view has no single events.
	 */
	struct table *(*each)(void *v, struct report *r);
	bool times_each; /* they have durations: --min */
	/* Its main numbers stand at one time, and are not what was counted until then: of parts of
	 * the time it is not asked (parts.h). */
	bool levels;
	/* A report is due now, before the interval ends; NULL: never. */
	bool (*due)(void *v);
	void (*reset)(void *v); /* the next interval begins (-i) */
	/* Does it tell of tasks of earlier intervals, by names of the stream? NULL: no. */
	bool (*remembers)(const void *v);
	void (*destroy)(void *v);
};

#endif
