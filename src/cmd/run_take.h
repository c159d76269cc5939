/*
 * A recording read as --input reads it, and the report on it, to be looked at instead of printed.
 */
#ifndef MEMWHY_CMD_RUN_TAKE_H
#define MEMWHY_CMD_RUN_TAKE_H

#include "cmd/run.h"

struct kept;

struct taken {
	struct kept *kept; /* owns what the report is of */
	struct report report;
	struct stream *stream; /* of the report */
	bool damaged;          /* the report is of what could be read */
};

/* The report of a run (its command, options and views) on o->input, which is open as `input`; with
 * o->each on its single events. --fields, --sort and --table are held against it. `of`: the probe
 * whose data it needs, else -EINVAL; NULL: it takes what there is. The run may go. */
int run_take_of(const struct run *run, const struct probe *of, int input, struct taken *ret,
	struct err *err);
/* The same of `cmd`, a probe's, on o->input, which is open as `input`. */
int run_take(const struct command *cmd, const struct options *o, int input, struct taken *ret,
	struct err *err);
/* The same; its tables know what their rows had in each part of the time, where the recording says
 * (report/parts.h). */
int run_take_parts(const struct command *cmd, const struct options *o, int input, struct taken *ret,
	struct err *err);
void taken_free(struct taken *t);

#endif
