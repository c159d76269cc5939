/* The commands that are not a probe's. */
#ifndef MEMWHY_CMD_ENTRIES_H
#define MEMWHY_CMD_ENTRIES_H

#include "cmd/command.h"

extern const struct command command_check;
extern const struct command command_doctor;
extern const struct command command_record;
extern const struct command command_diff;
extern const struct command command_serve;
extern const struct command command_incidents;
extern const struct command command_report;
extern const struct command command_export;
extern const struct command command_help;
extern const struct command command_top;

/* Two recordings on a page: what --of names, else all that both have. */
int diff_page(const struct command *cmd, struct options *o);

#endif
