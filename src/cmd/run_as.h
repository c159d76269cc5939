/* As whom the command of -- CMD runs: --user, else who called sudo. */
#ifndef MEMWHY_CMD_RUN_AS_H
#define MEMWHY_CMD_RUN_AS_H

#include "base/err.h"
#include "cmd/options.h"
#include "sys/users.h"

/*
 * *ret_is: there is a user to change to; else the command runs as memwhy does. -EINVAL: there is no
 * such user, or no command; -EPERM: memwhy may not.
 */
int run_as_from_options(
	const struct options *o, struct sys_user *ret, bool *ret_is, struct err *err);

#endif
