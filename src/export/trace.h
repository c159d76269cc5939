/*
 * Packets of a Perfetto trace: tracks of processes and threads, slices, counters, and call stacks,
 * each described once, before it is used. It knows names of the stream, and no probe.
 */
#ifndef MEMWHY_EXPORT_TRACE_H
#define MEMWHY_EXPORT_TRACE_H

#include "base/groups.h"
#include "report/report.h"

struct trace {
	const struct stream *names; /* all of the recording's */
	struct str out;             /* packets; to be taken and cleared between two calls */
	struct groups tracks;       /* what it is of -> struct track */
	struct groups texts;        /* kind and hash -> number */
	struct groups frames;       /* frame and line of it -> number */
	struct groups stacks;       /* id -> 1: described */
	u64 left_out;               /* slices that overlap too many others of their thread */
	bool failed;                /* memory was short */
};

/* A slice on the track `source` of a thread. */
struct trace_slice {
	const char *source; /* "stalls"; static text */
	u32 tgid, tid;
	u64 start_ns, end_ns;
	const char *name;
	u32 stack; /* 0: none */
};

/* A part of the slice before, after the last such part. */
struct trace_step {
	const char *name;
	u64 start_ns, end_ns;
};

struct trace_counter {
	u32 tgid; /* of this process; 0: of the machine */
	u64 id;   /* distinguishes counters of one name */
	const char *name;
	const char *unit; /* "bytes", "%", "blocks" */
};

void trace_init(struct trace *t, const struct stream *names);
void trace_free(struct trace *t);
/* What CLOCK_MONOTONIC, which all times are of, was at a time since 1970. */
void trace_clock(struct trace *t, u64 mono_ns, u64 wall_ns);
/* Steps are cut to lie within the slice and one behind the other. */
void trace_slice(struct trace *t, const struct trace_slice *s, const struct trace_step *steps,
	size_t n_steps);
void trace_instant(struct trace *t, const struct trace_slice *s);
void trace_count(struct trace *t, const struct trace_counter *c, u64 time_ns, double value);

#endif
