/*
 * The commands: one table from which dispatch, --help, man page synopses and shell completion
 * come. Commands of probes come from probes.def.
 */
#ifndef MEMWHY_CMD_COMMAND_H
#define MEMWHY_CMD_COMMAND_H

#include "base/opt.h"
#include "cmd/options.h"
#include "report/view.h"

enum exit_status {
	STATUS_DONE = 0,
	STATUS_FOUND = 1, /* a finding at or above --fail-on, or a regression */
	STATUS_USAGE = 2,
	STATUS_NOT_SUPPORTED = 3, /* not permitted, or not supported here */
	STATUS_DAMAGED = 4,       /* the data is incomplete */
	STATUS_INTERNAL = 5,
	STATUS_INTERRUPTED = 130,
};

/* Which option tables a command takes (see options.c). */
enum option_groups {
	GROUP_SCOPE = 1,
	GROUP_RUN = 2,
	GROUP_OUTPUT = 4,
	GROUP_BY = 8,
	GROUP_CHECK = 16,
	GROUP_RECORD = 32,
	GROUP_FILES = 64,
	GROUP_EACH = 128,
	GROUP_ATTACH = 4096, /* -p alone, in place of GROUP_SCOPE */
	GROUP_DIFF = 16384,
	GROUP_LIKE = 32768,
	GROUP_MIN = 65536,
	GROUP_PART = 262144,
	GROUP_OWN = 2097152, /* those of the command's probe, see probe_options */
	GROUP_PAGE = 67108864,
	GROUP_EXPORT = 33554432,
	GROUP_NARROW = 1048576, /* -c, -g and -C of a recording, in place of GROUP_SCOPE */
	GROUP_SERVE = 4194304,
	GROUP_TOP = 8388608,
	GROUP_INCIDENTS = 16777216,
};

struct probe; /* probes/probe.h */

struct command {
	const char *name;
	const struct probe *probe; /* whose command it is; NULL: of none */
	const char *summary;
	const char *section;         /* under which help lists it */
	const char *operands;        /* "FILE", NULL: none */
	u32 n_operands;              /* at most */
	bool operands_again;         /* what follows -- is operands too, no command to run */
	u32 groups;                  /* enum option_groups */
	bool takes_command;          /* -- CMD */
	bool needs_command;          /* … or a recording; with GROUP_ATTACH -p will do */
	const char *details;         /* paragraphs for the man page */
	const char *const *examples; /* pairs: command line, what it does; NULL-terminated */
	const char *output;          /* what a real run printed, in ASCII; NULL: the probe's */
	const struct view_table *const
		*tables; /* of what it prints, beside those of the probe's view; NULL: none */
	int (*run)(const struct command *cmd, struct options *o);
};

/* The table is built at the first call; entries are never freed. */
const struct command *commands(size_t *ret_n);
const struct command *command_find(const char *name);

/* Prints an error as memwhy prints all of them: cause, then hint. */
void command_error(const struct err *err);
/* Says so, with the nearest there is. Returns STATUS_USAGE. */
int command_unknown(const char *name);
/* The exit status that an -errno stands for. */
int command_status(int rc);

#endif
