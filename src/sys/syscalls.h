/* Names of the system calls of x86-64. Owns the table; knows no arguments. */
#ifndef MEMWHY_SYS_SYSCALLS_H
#define MEMWHY_SYS_SYSCALLS_H

#include "base/types.h"

/* "read"; NULL for a number that is not known. */
const char *syscall_name(s64 number);

#endif
