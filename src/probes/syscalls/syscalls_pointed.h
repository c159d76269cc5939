/* What the arguments of a call point to, of what was copied of it. */
#ifndef MEMWHY_PROBES_SYSCALLS_POINTED_H
#define MEMWHY_PROBES_SYSCALLS_POINTED_H

#include "base/str.h"
#include "probes/syscalls/syscalls.h"

/* Argument i, which is of this kind (enum syscall_arg), in place of its address. false: it is not
 * known, and nothing was added. */
bool syscalls_pointed_add(struct str *s, const struct syscalls_call *c, u8 arg, u32 i);
/* What follows the result: " ([{fd=3, revents=POLLIN}])" of poll, whose argument i it is. */
void syscalls_polled_add(struct str *s, const struct syscalls_call *c, u32 i);
/* The same of select, whose time is a struct timeval, and pselect6. */
void syscalls_selected_add(struct str *s, const struct syscalls_call *c, bool timeval);

#endif
