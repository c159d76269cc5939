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

/*
 * Which option tables a command takes (see options.c). GROUP_SCOPE and so on: each gets a bit from
 * its place in this list, so no two can share one. ATTACH: in place of SCOPE, -p alone, and of a
 * recording -c, -g and -C. OWN: those of the command's probe, see struct probe_options.
 */
#define OPTION_GROUPS(G)                                                                     \
	G(SCOPE)                                                                             \
	G(RUN)                                                                               \
	G(OUTPUT) G(BY) G(CHECK) G(RECORD) G(FILES) G(EACH) G(ATTACH) G(DIFF) G(LIKE) G(MIN) \
		G(PART) G(OWN) G(PAGE) G(EXPORT) G(SERVE) G(TOP) G(INCIDENTS)
#define OPTION_GROUP_NUMBER(name_) NUMBER_##name_,
#define OPTION_GROUP_BIT(name_) GROUP_##name_ = 1U << NUMBER_##name_,

enum { OPTION_GROUPS(OPTION_GROUP_NUMBER) OPTION_GROUPS_N };
enum option_groups { OPTION_GROUPS(OPTION_GROUP_BIT) };
_Static_assert(OPTION_GROUPS_N <= 32, "bits of struct command's groups");

struct probe; /* probes/probe.h */

struct command {
	const char *name;
	const struct probe *probe; /* whose command it is; NULL: of no probe */
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
/*
 * The status of a command that ended with @rc, 0 or -errno. Prints why it failed: @err, or where
 * that is empty, @rc under @name. -EPIPE is no failure: that reader has seen enough.
 */
int command_end(int rc, struct err *err, const char *name);
/* Says so, with the nearest there is. Returns STATUS_USAGE. */
int command_unknown(const char *name);
/* The exit status that an -errno stands for. */
int command_status(int rc);

#endif
