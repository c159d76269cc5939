/* `memwhy count --list EVENT...`: the events that a name or glob stands for, and their fields. */
#ifndef MEMWHY_CMD_COUNT_LIST_H
#define MEMWHY_CMD_COUNT_LIST_H

#include "cmd/command.h"

/* What it prints, for the man page of this command; NULL: of another. */
const struct view_table *const *count_list_tables(const char *command);
/* An exit status. */
int count_list(const struct command *cmd, struct options *o);

#endif
