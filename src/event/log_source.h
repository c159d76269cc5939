/*
 * The blocks of a log, one after another, out of bytes that may come from anywhere. Private to
 * the log's reader. It checks and unpacks blocks, steps over damage and keeps account of it; it
 * does not know what is in them.
 */
#ifndef MEMWHY_EVENT_LOG_SOURCE_H
#define MEMWHY_EVENT_LOG_SOURCE_H

#include "event/log_format.h"

/* What could not be read, as far as it can be known. */
struct log_damage {
	u64 blocks;            /* known by their head, or by the gap in the numbers of the others */
	u64 records;           /* of those whose head could be read */
	u64 first_ns, last_ns; /* of the same; 0: not known */
	u64 bytes;             /* before a later good block */
	u64 tail_bytes;        /* after the last good block */
	bool cut;              /* the tail is the beginning of a block */
};

struct log_source {
	int fd;
	char *buf;
	size_t start, len; /* what is in buf and not yet used */
	u64 offset;        /* of buf[start] in the file */
	bool eof;
	void *zstd;
	char *raw; /* LOG_BLOCK_MAX bytes, 16-aligned: the data of the present block */
	struct log_block block;
	u64 next;       /* number the next block should have */
	u64 good_bytes; /* read and made sense of */
	u64 skipped;    /* since the last good block */
	struct log_damage damage;
};

/* Takes over fd, also on failure. */
int log_source_init(struct log_source *s, int fd);
void log_source_destroy(struct log_source *s);
/* Makes up to n bytes available at buf + start: how many are, fewer only at the end; -errno. */
ssize_t log_source_fill(struct log_source *s, size_t n);
void log_source_use(struct log_source *s, size_t n);
/* 1: block and raw hold the next good block; 0: there is none; -errno: reading failed. */
int log_source_next(struct log_source *s);

#endif
