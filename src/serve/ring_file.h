/*
 * The ring as a file in memory, by which it is handed to the process that makes a recording of it.
 * Owns the format of that file, which no other program ever reads.
 */
#ifndef MEMWHY_SERVE_RING_FILE_H
#define MEMWHY_SERVE_RING_FILE_H

#include "event/sink.h"

#define RING_CHUNK_BYTES (128U << 10) /* of records that are packed together */

enum ring_part {
	RING_FIRST,  /* records that begin the recording */
	RING_BEFORE, /* sums as they were when it begins: losses and cost */
	RING_RAW,    /* records of the ring */
	RING_PACKED, /* the same, compressed */
	RING_LAST,   /* records that end it */
};

/* Writes records to such a file, one part after the other. */
struct ring_writer {
	struct sink sink; /* first: takes a record of the current part */
	int fd;
	enum ring_part part;
	u32 n;     /* bytes that wait */
	char *buf; /* of RING_CHUNK_BYTES */
};

/* What comes next belongs to this part. 0 or -errno, as for all below. */
int ring_writer_part(struct ring_writer *w, enum ring_part part);
/* A part of its own: n bytes that unpack to `raw`; for RING_RAW n is raw. */
int ring_writer_add(struct ring_writer *w, enum ring_part part, const void *data, u32 n, u32 raw);
void ring_writer_init(struct ring_writer *w, int fd, char *buf);

/* Sends the recording that the file holds. -EBADMSG: it is none. */
int ring_file_send(int fd, struct sink *to);

#endif
