/* Names of the system calls of x86-64. Owns the tables; knows no arguments. */
#ifndef MEMWHY_SYS_SYSCALLS_H
#define MEMWHY_SYS_SYSCALLS_H

#include "base/types.h"

/* "read"; NULL for a number that is not known. Those from 512 on are x32's own. */
const char *syscall_name(s64 number);
/* The same for the calls of 32-bit programs, which have numbers of their own. */
const char *syscall_compat_name(s64 number);

#endif
