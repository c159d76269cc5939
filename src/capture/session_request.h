/*
 * What a command line asks of a session, as far as all commands share it: what a probe holds its
 * own options against, before anything is opened. Knows no probe.
 */
#ifndef MEMWHY_CAPTURE_SESSION_REQUEST_H
#define MEMWHY_CAPTURE_SESSION_REQUEST_H

#include <stdbool.h>

#include "base/err.h"
#include "sys/users.h"

struct request {
	const char *pids, *comm, *cgroup, *container; /* -p, -c, -g, -C; NULL: not given */
	bool follow;
	const char *record, *input; /* files; NULL: none */
	const char *by, *stacks;
	bool each;
	u64 min_ns, for_ns, interval_ns;
	u64 from_ns, to_ns; /* a part of a recording; 0: not given. A probe's check may set them */
	char *const *operands; /* words after the command's name */
	u32 n_operands;
	/* For a command over another probe (probe.over), if any option of that probe was given: all
	 * of its options that the command takes, as words ("--a, --b and --c"); NULL: none. */
	const char *over_given;
	char *const *command; /* of -- CMD; NULL: none */
	bool as_other;        /* it runs as `as`; else as memwhy */
	struct sys_user as;
};

/* Is there a command, and can something be preloaded into it? */
bool request_is_tracked(const struct request *r);
/* Why nothing can be preloaded into the command; NULL: it can, or there is none. */
const char *request_untracked_why(const struct request *r);

#endif
