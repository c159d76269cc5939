/*
 * The ring buffers of the kernel's tracing (ftrace): the one of tracefs itself and those of its
 * instances. They are taken when they are first used or sized, and kept while nobody traces.
 */
#ifndef MEMWHY_SYS_TRACE_BUFFERS_H
#define MEMWHY_SYS_TRACE_BUFFERS_H

#include <limits.h>

#include "base/vec.h"

struct trace_buffer {
	char instance[NAME_MAX + 1]; /* "": that of tracefs itself */
	char directory[PATH_MAX];    /* where its files are */
	u64 bytes;                   /* of all CPUs */
	u64 cpu_bytes;               /* of each; 0: they differ, or it is not known */
	bool on;                     /* events are written to it */
};

struct trace_buffers {
	VEC(struct trace_buffer) list; /* of those that have been taken */
	bool mounted;                  /* else others cannot reach those directories */
};

#define _cleanup_trace_buffers_ _cleanup_(trace_buffers_free)

void trace_buffers_free(struct trace_buffers *t);
/* What buffer_total_size_kb or buffer_size_kb says: "1408". In bytes; 0: it has not been taken yet
 * ("7 (expanded: 1408)"), or is not one number ("X": the CPUs differ). */
u64 trace_buffer_size_parse(const char *text);
/* Replaces what ret held; empty where tracefs is unavailable. -ENOMEM. */
int trace_buffers_read(struct trace_buffers *ret);

#endif
