/*
 * The reader's state, private to this room: reader.c hands out records, open.c reads the head of
 * a file, source.c gets at the bytes of records.
 */
#ifndef MEMWHY_PERFDATA_READER_H
#define MEMWHY_PERFDATA_READER_H

#include "base/str.h"
#include "perfdata/events.h"
#include "perfdata/order.h"

struct perfdata {
	char *name;
	int fd;
	bool swap, pipe, unordered;
	bool unclosed;  /* perf did not come to write the head */
	u64 left;       /* bytes of records not yet read of the file; ~0: up to its end */
	u64 file_bytes; /* 0: not known */
	u64 skip;       /* bytes that follow a record and are not wanted */
	size_t max_queued;

	struct chunks chunks;
	struct tape raw;      /* of the file */
	struct tape unpacked; /* out of compressed records */
	struct tape moved;    /* records that were not aligned */
	struct order order;

	void *zstd;
	struct { /* what of a compressed record is still to be unpacked; the chunk is held */
		struct chunk *chunk;
		const char *p;
		size_t n;
		u64 offset;
		bool more;   /* there is more to come out, also without more going in */
		bool broken; /* the stream cannot be unpacked from here on */
	} packed;

	struct perf_events events;
	struct perfdata_host host;
	struct perfdata_record record;
	struct entry now; /* being looked at; its chunk is held, or NULL */
	u64 last_time;

	bool ended;
	bool cut; /* ... within a record, or before the end */
	u64 cut_at;
	u32 features_missing; /* are beyond the end of the file */
	const char *reason;   /* of the first malformed record */
	u64 reason_at;
	struct perfdata_stats stats;
};

/* Reads the head, attributes and features, and goes to the first record. Errors of
 * perfdata_open(). */
int reader_begin(struct perfdata *p, struct err *err);
/* Reads a little further: at least one record was queued or dealt with. 1: e is a record to hand
 * out at once; 0: look at the queue; -errno. Sets p->ended. */
int reader_step(struct perfdata *p, struct entry *e);
/* Makes n bytes (at most 64 KiB) available at tape_head(&p->raw): how many are; -errno. */
ssize_t raw_fill(struct perfdata *p, size_t n);
void reader_malformed(struct perfdata *p, u64 offset, const char *reason);
/* The feature's bytes: into host or events. -ENOMEM. */
int reader_feature(struct perfdata *p, u32 feature, struct cursor *c, u64 offset);

#endif
