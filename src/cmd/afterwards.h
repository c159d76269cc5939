/*
 * Formats that are made of a recording, asked of a run: -o sqlite, -o perfetto, and --anonymize.
 * The run is recorded by a child, into --record FILE or a file without a name; then this process
 * makes of it what was asked for.
 */
#ifndef MEMWHY_CMD_AFTERWARDS_H
#define MEMWHY_CMD_AFTERWARDS_H

#include "cmd/command.h"

/* Is it such a run, or --input FILE with one of these formats? */
bool afterwards_wanted(const struct command *cmd, const struct options *o);
/* An exit status; -1 in the child, whose options are now those of a recording. */
int afterwards_run(const struct command *cmd, struct options *o);

#endif
