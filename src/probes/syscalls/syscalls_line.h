/* One call as strace writes it: `openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3`. Safe to print: all
 * that programs chose is quoted. */
#ifndef MEMWHY_PROBES_SYSCALLS_LINE_H
#define MEMWHY_PROBES_SYSCALLS_LINE_H

#include "base/str.h"
#include "event/stream.h"
#include "probes/syscalls/syscalls.h"

/* Is it whole: does what was copied lie within its size? To be asked of what comes from a file. */
bool syscalls_call_valid(const struct syscalls_call *c);
/* "read", "compat:getpid", "x32:getpid", "syscall_1000". */
void syscalls_name_add(struct str *s, u32 abi, u32 nr);
/* Name and arguments. */
void syscalls_call_add(struct str *s, const struct stream *names, const struct syscalls_call *c);
/* What it returned: "3", "-1 ENOENT (No such file or directory)", "?". */
void syscalls_result_add(struct str *s, const struct syscalls_call *c);

/* Bytes that follow the record. */
u32 syscalls_copied_bytes(const struct syscalls_call *c);
/* Does memwhy have a table of its arguments? */
bool syscalls_args_known(u32 abi, u32 nr);

#endif
