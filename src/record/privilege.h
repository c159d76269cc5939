/* Least privilege: what is kept once everything is attached. */
#ifndef MEMWHY_RECORD_PRIVILEGE_H
#define MEMWHY_RECORD_PRIVILEGE_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Gives up every capability but those needed to read BPF maps (CAP_BPF; CAP_SYS_ADMIN before
 * 5.8), other processes' address spaces (CAP_SYS_PTRACE), their files (CAP_DAC_READ_SEARCH) and
 * kernel symbols (CAP_SYSLOG), and the right to regain any. mapped_files: also what it takes to
 * open a mapped file that was replaced on disk, by /proc/PID/map_files (CAP_CHECKPOINT_RESTORE).
 */
int privilege_drop(bool mapped_files, struct err *err);
/* The same in a process that only looks at files for memwhy, and ends where that fails. */
void privilege_drop_or_end(void);

#endif
