/*
 * The event log: one append-only file of compressed, checksummed blocks of records, with the
 * schema of the records at its head. docs/event-log.md is the format for other programs.
 *
 * A file cut anywhere opens up to its last whole block, and the reader says how much is missing.
 * Neither side knows what records mean.
 */
#ifndef MEMWHY_EVENT_LOG_H
#define MEMWHY_EVENT_LOG_H

#include "base/target.h"
#include "event/schema.h"
#include "event/sink.h"

struct log_writer;

/* Does the file begin as a recording does? */
bool log_is_recording(int fd);
/* Where to record to: nothing but a recording that is there is replaced. */
static inline struct target log_target(const char *path)
{
	return (struct target){
		.path = path, .cannot = "cannot record to", .replaceable = log_is_recording};
}
/*
 * Opens the file (target_open), empties it, sets its mode to 0600 and writes the schema. One that
 * is being recorded to is an error and left alone.
 */
int log_writer_open(const struct target *to, const struct schema *schema, struct log_writer **ret,
	struct err *err);
/* The same into an open file, which it owns; name: for errors. */
int log_writer_open_fd(int fd, const char *name, const struct schema *schema,
	struct log_writer **ret, struct err *err);
/*
 * The writer as a sink. put returns -EINVAL for an invalid record (size, or a kind outside any
 * schema). When a write fails (a full disk), put returns its -errno once and 0 after that: later
 * records are counted and dropped, and what was written stays readable. log_writer_flush and
 * log_writer_close say why it failed and how much is missing.
 */
struct sink *log_writer_sink(struct log_writer *w);
/* Makes what was put so far readable should this program die. It is not a sync to the disk. */
int log_writer_flush(struct log_writer *w, struct err *err);
/* Writes the index and closes. Frees w in any case. Fails if any record was not written. */
int log_writer_close(struct log_writer *w, struct err *err);

struct log_reader;

/*
 * Opens and checks the head; a pipe will do. -EINVAL: not a memwhy log, or a newer version (err
 * says which). -ENODATA: cut within its first bytes. Memory is about 2.5 MiB whatever the file.
 */
int log_reader_open(const char *path, struct log_reader **ret, struct err *err);
/* As above, over an open descriptor, which it owns, from its present position; name: for errors. */
int log_reader_open_fd(int fd, const char *name, struct log_reader **ret, struct err *err);
/* The schema in the file, empty if that is damaged. Owned by the reader. */
const struct schema *log_reader_schema(const struct log_reader *r);
/*
 * The next record, valid until the next call. 1: a record. 0: the end, and the file is complete.
 * -ENODATA: no more records, and the file is cut, damaged or was not closed properly; err says how
 * much is missing, as far as known. Damaged blocks are skipped: every record comes from an intact
 * block. Another -errno: reading failed.
 *
 * Records shorter than `known` (may be NULL), or else the file's own schema, says for their kind
 * are zero-extended to that size. Longer records, and kinds in neither, come as they are. Malformed
 * sizes count as damage.
 */
int log_reader_next(
	struct log_reader *r, const struct schema *known, const struct rec **ret, struct err *err);
void log_reader_close(struct log_reader *r);

#endif
