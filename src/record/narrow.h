/*
 * A part of a recording: a sink in front of a pipeline that hands on only the records of some
 * tasks, or of some time. What describes the recording itself (names, methods, losses, cost)
 * passes whole, and so do records that are of no task: samples of the whole machine. Which fields
 * of a record say whose it is, is read from its description in the schema; it knows no probe.
 */
#ifndef MEMWHY_RECORD_NARROW_H
#define MEMWHY_RECORD_NARROW_H

#include "base/str.h"
#include "base/vec.h"
#include "event/schema.h"
#include "event/stream.h"
#include "event/sink.h"

/* All that is given must hold. The strings must outlive the narrow. */
struct narrow_want {
	VEC(u32) tasks;        /* ids of processes or threads; none: any */
	const char *comm;      /* NULL: any */
	const char *cgroup;    /* path: it and those below; with or without /sys/fs/cgroup */
	const char *container; /* as -C */
	u64 from_ns, to_ns;    /* since the session began; to_ns 0: to its end */
};

struct narrow_fields; /* of one kind: where it says whose it is */

struct narrow {
	struct sink sink; /* put records here */
	struct sink *next;
	struct stream *stream; /* which `next` feeds */
	const struct schema *schema;
	struct narrow_want want;
	struct narrow_fields *kinds[REC_KINDS]; /* made as they come */
	u64 begin_ns;
	u64 kept, left_out;
	u64 unknown; /* of those left out: they do not say whose they are */
};

bool narrow_wanted(const struct narrow_want *w);
/* Is something of tasks asked for, not only of time? */
bool narrow_is_scope(const struct narrow_want *w);
void narrow_want_free(struct narrow_want *w);
/* "pid 12, comm cc1, from 10.0 s to 20.0 s" */
void narrow_words(const struct narrow_want *w, struct str *out);

/* Takes over `want`. */
void narrow_init(struct narrow *n, struct narrow_want *want, const struct schema *schema,
	struct sink *next, struct stream *stream);
void narrow_destroy(struct narrow *n);

#endif
