/* Structures that system calls take and fill, as strace writes them. Pure: bytes to text. */
#ifndef MEMWHY_SYS_SYSCALL_VALUE_H
#define MEMWHY_SYS_SYSCALL_VALUE_H

#include "base/str.h"

/* The structure that an argument of this kind (enum syscall_arg) points to, of which n bytes are
 * known; `cut`: of a list there is more. false: they are too few, or it is no structure. */
bool syscall_value_add(struct str *s, u8 arg, const void *p, u32 n, bool cut);
/* What poll says: [{fd=3, revents=POLLIN}] of n bytes. */
void poll_result_add(struct str *s, const void *p, u32 n);
/* NULL, or 0x7f00. */
void pointer_add(struct str *s, u64 v);

#endif
