/* Help texts, man page synopses and completion, all generated from the command table. */
#ifndef MEMWHY_CMD_HELP_H
#define MEMWHY_CMD_HELP_H

#include "base/str.h"
#include "cmd/command.h"

/* "memwhy faults [options] [-- CMD ARGS...]" */
void help_synopsis(const struct command *cmd, struct str *out);
/* What --probes takes: "faults, stalls; only when named: slab; not count, ..." */
void help_probes(struct str *out);
void help_overview(struct str *out);
void help_command(const struct command *cmd, struct str *out);
/* The man page of a command in roff, whole. */
void help_man(const struct command *cmd, struct str *out);
void help_man_main(struct str *out);
void help_completion(struct str *out);
void help_completion_fish(struct str *out);
/* What --by of a command takes, and the columns it has, each word with a space behind it. */
void completion_keys(struct str *out, const struct command *cmd);
void completion_fields(struct str *out, const struct command *cmd);
/* The same of its tables, of the words it takes, and of what --probes takes. */
void completion_tables(struct str *out, const struct command *cmd);
bool completion_is_list(const struct opt *o);
void completion_tools(struct str *out, const struct command *cmd);
void completion_operands(struct str *out, const struct command *cmd);
void completion_probes(struct str *out);

#endif
