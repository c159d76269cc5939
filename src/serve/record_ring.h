/*
 * The records of the last minutes, compressed in memory, bounded in time and bytes. Dropped records
 * leave behind the latest state of each thing, so what is left is a complete recording. Belongs to
 * one thread.
 */
#ifndef MEMWHY_SERVE_RECORD_RING_H
#define MEMWHY_SERVE_RECORD_RING_H

#include "event/stream.h"

struct ring;

int ring_new(u64 keep_ns, u64 max_bytes, struct ring **ret);
void ring_free(struct ring *r);
void ring_limit(struct ring *r, u64 keep_ns, u64 max_bytes);
/* Never fails: what finds no memory is counted as dropped. */
void ring_put(struct ring *r, const struct rec *rec);
/*
 * Writes all that is kept to a file in memory (ring_file.h), as a recording of the time it reaches
 * back to: names and states first. `names` was fed all records. why: notes of what the recording is
 * for, NULL-terminated. What is written may be asked for again later.
 */
int ring_save(struct ring *r, const struct stream *names, const char *const *why, int fd);

struct ring_state {
	u64 bytes, records, dropped;
	u64 begin_ns; /* of the oldest record; 0: none */
};

struct ring_state ring_state(const struct ring *r);

#endif
