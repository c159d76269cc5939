/* The schema of the syscalls probe's records. */
#ifndef MEMWHY_PROBES_SYSCALLS_KINDS_H
#define MEMWHY_PROBES_SYSCALLS_KINDS_H

#include "event/schema.h"

#define SYSCALLS_KINDS 5

extern const struct kind syscalls_kinds[SYSCALLS_KINDS];

#endif
