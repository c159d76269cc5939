/*
 * Profiles on demand: a process that is forked before the service gives up its rights, and runs
 * this same program once more for each profile (`memwhy heap -p PID --for 10s -o pprof`). Owns
 * which there are. It takes a message of fixed size with numbers in it, which it checks, so the
 * thread that reads what strangers send can have one of these profiles made and nothing else.
 */
#ifndef MEMWHY_SERVE_PROFILER_H
#define MEMWHY_SERVE_PROFILER_H

#include <sys/types.h>

#include "base/str.h"

#define PROFILE_SECONDS 10 /* where nothing else is asked for */
#define PROFILE_SECONDS_MAX 300
#define PROFILE_SECONDS_MORE 150 /* what attaching and naming may take beyond that */
#define PROFILE_KINDS 4

struct profile_kind {
	const char *name; /* and the command that makes it */
	bool of_process;  /* it needs one */
	const char *help;
};

extern const struct profile_kind profile_kinds[PROFILE_KINDS];

struct profile_ask {
	u32 kind;    /* index in profile_kinds */
	u32 pid;     /* 0: all */
	u32 seconds; /* 1 to PROFILE_SECONDS_MAX */
};

struct profiler {
	pid_t pid;
	int socket; /* -1: there is none */
};

/* Before there are other threads. */
int profiler_begin(struct profiler *ret);
void profiler_end(struct profiler *p);
/* It has ended by itself, or somebody ended it. */
bool profiler_is_gone(const struct profiler *p);

/* "pid=12&seconds=10": what is not known is ignored. False: a number is none, or out of bounds. */
bool profile_query_parse(const char *query, struct profile_ask *ret);
/* A descriptor that can be read once the profile is made; who closes it before does not want it any
 * more. */
int profiler_ask(const struct profiler *p, const struct profile_ask *ask, int *ret_fd);
/* The profile (true), or in words why there is none. */
bool profiler_take(int fd, struct str *out);

#endif
