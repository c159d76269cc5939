/* What is in a recording, and what a report on one has to say of that. */
#ifndef MEMWHY_CMD_RECORDING_H
#define MEMWHY_CMD_RECORDING_H

#include "cmd/run.h"

/* Does it hold what the command of this probe shows? */
bool recording_has(const struct stream *s, const struct probe *p);
/*
 * What a recording says of itself at its beginning: host, command, methods. `ret` is a stream to be
 * destroyed. A file that is no regular one is not looked into, since its bytes would be gone:
 * -ESPIPE. Other -errno as of log_reader_open.
 */
int recording_peek(const char *path, struct stream *ret, struct err *err);
/* The probe whose command made it; else heap, if it has it; else NULL. */
const struct probe *recording_probe(const struct stream *s);
/* Adds what was asked for and is not in it. */
void recording_tell(const struct run *run, struct report *r);

#endif
