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
 * samples: also what it takes to sample a process where kernel.perf_event_paranoid is above 2, as
 * Debian has it (CAP_PERFMON).
 */
int privilege_drop(bool mapped_files, bool samples, struct err *err);

#endif
