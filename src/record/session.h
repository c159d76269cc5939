/*
 * A live session: starts the observed command, opens the probes, drains them until it is over,
 * and gives every record to one sink. The only main loop there is. Knows no command and no view.
 */
#ifndef MEMWHY_RECORD_SESSION_H
#define MEMWHY_RECORD_SESSION_H

#include "probes/probe.h"

struct session_config {
	const char *command;
	const char *scope_text; /* "system-wide", "pid 12", … */
	const struct probe *const *probes;
	size_t n_probes;
	size_t n_beside;      /* of these, the last: that one does not open is noted, no error */
	bool lenient;         /* a probe that does not open is noted as not checked, not an error */
	bool needs_privilege; /* … but one that is not permitted is an error all the same */
	bool debug_info;
	bool guarded; /* to report also when memory is gone: see guard.h */
	struct capture_options opt;
	u64 for_ns;      /* 0: until interrupted, or the observed processes have ended */
	u64 interval_ns; /* 0: no ticks */
	u64 drain_ns;    /* between drains, where no table fills up; 0: a second */
	char **argv;     /* the command to run and observe, NULL: none */
	bool apart;      /* its standard output is our standard error */
	/* Called after each tick's records were sent; 0 or -errno to end the session. 1: the report
	 * needs names that names_rest put off; it is called again once they were sent. */
	int (*on_tick)(void *arg);
	/* Called when single events were sent; with events_named once a second, when what they
	 * need to be named (stacks, symbols) was sent too. 1: the interval is to end now, by a
	 * tick; 0 or -errno as above. */
	int (*on_events)(void *arg);
	bool events_named;
	/* For a session without end: what was read to name stacks is given back after each naming,
	 * for less memory and more work. */
	bool brief_names;
	u32 names_rest; /* see names_options; at the end of the session there are all names */
	bool unnamed;   /* the sink looks at no frame: none is resolved to its symbol */
	/* SIGHUP and SIGUSR1 are given to this, in place of what they mean otherwise (the end, a
	 * report now); 0 or -errno to end the session. May be NULL. */
	int (*on_signal)(void *arg, int number);
	/* Called when `fd` is readable; 1: the session is to end now, as if its time were over, or
	 * -errno. NULL: there is no such descriptor. */
	int (*on_fd)(void *arg);
	int fd;
	/* Called when the first n probes are open, from the first one on; may be NULL. */
	int (*on_opened)(void *arg, size_t n);
	pid_t helpers[2]; /* processes that work for memwhy: not counted, but they cost; 0: none */
	void *arg;
};

struct session_result {
	bool interrupted;
	bool has_child, child_ended;
	bool exec_failed; /* the command could not be run */
	int child_status; /* as a shell says it */
};

int session_run(const struct session_config *cfg, struct sink *sink, struct session_result *ret,
	struct err *err);

#endif
