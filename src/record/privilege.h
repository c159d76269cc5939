/* Least privilege: what is kept once everything is attached. */
#ifndef MEMWHY_RECORD_PRIVILEGE_H
#define MEMWHY_RECORD_PRIVILEGE_H

#include "base/err.h"

/*
 * Gives up every capability but those needed to read BPF maps (CAP_BPF; CAP_SYS_ADMIN before
 * 5.8), other processes' address spaces (CAP_SYS_PTRACE), their files (CAP_DAC_READ_SEARCH) and
 * kernel symbols (CAP_SYSLOG), and the right to regain any.
 */
int privilege_drop(struct err *err);

#endif
