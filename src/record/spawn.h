/* The observed command (-- CMD): started at once but held before its exec until released, so that
 * nothing it does is missed. */
#ifndef MEMWHY_RECORD_SPAWN_H
#define MEMWHY_RECORD_SPAWN_H

#include <sys/types.h>

#include "base/err.h"
#include "sys/users.h"

struct spawned {
	pid_t pid; /* 0: none */
	int hold;  /* written to release it */
	int fault; /* readable with an errno if the exec failed */
	bool ended;
	int status; /* of waitpid, once ended */
};

struct spawn_how {
	const struct sys_user *as; /* whom it runs as from its exec on; NULL: as we do */
	bool apart; /* what it prints goes to our standard error: standard output is taken */
};

/* how: NULL: as we are, in all. */
int spawn_held(
	char *const argv[], const struct spawn_how *how, struct spawned *ret, struct err *err);
/* -errno of the exec if it failed; the child is gone then. */
int spawn_release(struct spawned *s, const char *name, struct err *err);
/* Collects the child if it has ended. */
bool spawn_ended(struct spawned *s);
/* What a shell would call its exit status: 128 + the signal that ended it. */
int spawn_exit_status(const struct spawned *s);
/* The signal that ended it; 0: none. */
int spawn_exit_signal(const struct spawned *s);
/* A child still held is made to end unreleased; one that runs is left alone. */
void spawn_close(struct spawned *s);

#endif
