/*
 * A command that looks: probes or a recording in, a report out. Shared by the commands of probes,
 * `check` and `record`.
 */
#ifndef MEMWHY_CMD_RUN_H
#define MEMWHY_CMD_RUN_H

#include "cmd/command.h"
#include "record/pipeline.h"
#include "record/session.h"

enum run_asked { RUN_GOES_ON, RUN_ENDS, RUN_RECORDS /* a recording begins, or ends */ };

/* Where reports go instead of an output: to somebody who watches. */
struct run_watch {
	int fd;           /* readable when asked() is to be called */
	pid_t helpers[2]; /* see session_config */
	int (*show)(void *arg, const struct report *r);
	int (*asked)(void *arg);                                 /* enum run_asked */
	void (*tell)(void *arg, bool records, const char *text); /* see record_now.h */
	void (*wait)(void *arg);  /* until enough was seen of a recording */
	void (*close)(void *arg); /* before anything else is printed */
	size_t early;             /* after so many probes were opened, there is something to see */
	void *arg;
};

struct run {
	const struct command *cmd;
	struct options *o;
	const struct probe *const *probes;
	size_t n_probes;
	const struct view *const *views;
	size_t n_views;
	bool lenient;      /* probes that do not open are noted */
	bool gentle;       /* see capture_options */
	bool plain_stacks; /* see capture_options */
	bool finds;        /* the report has findings */
	bool guarded;      /* see session_config */
	size_t n_beside;   /* of the probes, those at the end that only feed the view */
	struct company company;
	const char *named; /* as in capture_options; NULL: the command */
	/* Puts words to the whole: verdict, what to run next. May be NULL. */
	void (*conclude)(struct report *r);
	u32 stack_every;
	u64 watch_ns; /* see capture_options; of a recording, intervals are at least nearly so long
		       */
	const struct run_watch *watch; /* NULL: none */

	/* Afterwards: */
	bool done;       /* and reported: nothing failed, nobody interrupted */
	int worst;       /* level of the worst finding, -1: none */
	bool incomplete; /* what was not seen may have been there: it was not permitted to look */
	struct session_result result;
};

/* Runs and prints; returns an exit status: that of a command that was run and ended (-- CMD),
 * unless memwhy failed. */
int run_live_or_input(struct run *r);
/* The same for who runs a session by itself: rc is what came of it. */
int run_status(int rc, const struct session_result *result);

#endif
