/* What the programs are to copy of the arguments of each call. */
#ifndef MEMWHY_PROBES_SYSCALLS_COPIES_H
#define MEMWHY_PROBES_SYSCALLS_COPIES_H

#include "probes/syscalls/syscalls.h"

void syscalls_copies_set(struct syscalls_probe_config *config);

#endif
