/* What a command line can say, for all commands, and the tables that parse it. */
#ifndef MEMWHY_CMD_OPTIONS_H
#define MEMWHY_CMD_OPTIONS_H

#include "base/opt.h"

struct options {
	/* scope */
	const char *pids, *comm, *cgroup, *container;
	bool follow;
	/* run */
	u64 for_ns, interval_ns, ring_bytes, max_bytes;
	const char *record, *input, *stacks;
	bool no_lines, with_self;
	const char *user;       /* as whom the command runs; NULL: as who called sudo */
	const char *debuginfod; /* "": for the usual time; NULL: not asked for */
	/* view */
	const char *by, *like;
	bool each;
	u64 min_ns;
	/* part */
	u64 from_ns, to_ns; /* 0: not given */
	/* output */
	const char *format, *fields, *sort, *table, *out;
	u64 limit;
	bool force;
	int record_fd; /* open, in place of `record`, which names it; 0: none */
	bool quiet, verbose;
	/* check */
	const char *fail_on;
	/* record */
	const char *probes;
	/* serve */
	const char *push, *push_labels, *push_headers;
	const char *config, *listen, *auth, *incidents, *on_pressure;
	u64 max_series, keep_ns, keep_bytes, max_incidents, max_incident_bytes, min_free_bytes;
	u64 on_stall_ns;
	const char *on_level;
	bool on_limit, no_incidents, profiles;
	/* diff; --by and --fail-on as above */
	const char *of, *least;
	bool rate;
	/* export */
	const char *to;
	/* export, report */
	bool anonymize;

	bool help;
	void **own; /* options of probes, see own.h */
	char **operands;
	int n_operands;
	char **argv; /* the command after "--", NULL: none */
};

/* The values before the command line is read. */
extern const struct options options_default;

struct command;

/* The tables that a command takes, ended by a NULL one. own: what those of probes write into (see
 * own.h); NULL: nothing is to be parsed. Static storage. */
const struct opt_set *options_of(const struct command *cmd, void *const *own);
/* Those of all commands. */
const struct opt_set *options_all(void);
/* Heading of one of the tables of options_of(); NULL: that of the table before it. */
const char *options_heading(const struct opt_set *set);

#endif
