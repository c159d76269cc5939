/*
 * `memwhy numa try`: moves the pages of an object of a running process, measures before and after,
 * and says whether it helped. Asks before it acts; --undo puts the pages back.
 */
#ifndef MEMWHY_CMD_NUMA_TRY_H
#define MEMWHY_CMD_NUMA_TRY_H

#include "cmd/command.h"

bool numa_try_wanted(const struct command *cmd, const struct options *o);
/* What it prints, for the man page of this command; NULL: of another. */
const struct view_table *const *numa_try_tables(const char *command);
/* An exit status. */
int numa_try(const struct command *cmd, struct options *o);

#endif
