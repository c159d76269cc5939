/* What is in a recording, and what a report on one has to say of that. */
#ifndef MEMWHY_CMD_RECORDING_H
#define MEMWHY_CMD_RECORDING_H

#include "cmd/run.h"

/*
 * Drops all rights that are not needed to read these n open files as the command of this probe (may
 * be NULL) does. Open the outputs for reports before. *ret_unfiltered: the kernel has no seccomp
 * filters; recording_unfiltered() says so.
 *
 * From now on this process may allocate at most --max-memory more (default RECORDING_BYTES) for
 * reading and reporting, because few bytes of a file may stand for any number of records. Beyond
 * that allocations fail with -ENOMEM.
 */
#define RECORDING_BYTES (1ULL << 30)
u64 recording_memory(const struct options *o);
int recording_enter(const int *fds, size_t n, const struct probe *of, const struct options *o,
	bool *ret_unfiltered, struct err *err);
/* Says that the bound was met, and returns the code for it. */
int recording_too_large(const char *path, const struct options *o, struct err *err);
void recording_unfiltered(struct report *r);
/* Does it hold what the command of this probe shows? */
bool recording_has(const struct stream *s, const struct probe *p);
/* Says that it does not, of a file by this name (may be NULL), and how to record it. -EINVAL. */
int recording_lacks(
	const struct stream *s, const char *path, const struct probe *p, struct err *err);
/* Was it recorded with --each, so that what was asked for is not in it, nor anything else? */
bool recording_is_of_events(
	const struct stream *s, const struct probe *p, const struct options *o, struct err *err);
/*
 * What a recording says of itself at its beginning: host, command, methods. `ret` is a stream to be
 * destroyed. A file that is no regular one is not looked into, since its bytes would be gone:
 * -ESPIPE. Other -errno as of log_reader_open.
 */
int recording_peek(int fd, const char *path, struct stream *ret, struct err *err);
/* Was it made with stacks requested, or is it of a traced program, which always has them? */
bool recording_has_stacks(const struct stream *s);
/* The command whose tables `--of NAME` means; NULL: it is none that has tables, as err says. */
const struct command *recording_of(const char *name, struct err *err);
/* The error for a recording of several commands: names those for which fits() is true, which --of
 * COMMAND may choose (`what`: what to do with it). -EINVAL. */
int recording_of_unknown(const struct stream *s, const char *path, const char *what,
	bool (*fits)(const struct probe *p), struct err *err);
/* The probe whose command made it; else heap, if it has it; else NULL. */
const struct probe *recording_probe(const struct stream *s);
/* Adds what check looks at and is not in it. */
void recording_tell_check(struct report *r);
/* Adds what was asked for and is not in it. */
void recording_tell(const struct run *run, struct report *r);

#endif
