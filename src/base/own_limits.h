/*
 * Limits (setrlimit(2)) that memwhy was started with and that are too tight for its own work: open
 * files, and the stack. They are raised as far as the kernel lets us; a command that memwhy runs
 * gets back what memwhy was given. A file at its limit is an error of that write, no signal.
 */
#ifndef MEMWHY_BASE_OWN_LIMITS_H
#define MEMWHY_BASE_OWN_LIMITS_H

#include "base/err.h"

/* Once, before anything is opened. -EOPNOTSUPP: a limit is too tight and may not be raised; err
 * says which, and how it is. */
int limits_raise(struct err *err);
/* In a child, before exec: as they were. */
void limits_give_back(void);

#endif
