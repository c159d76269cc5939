/* One row of /proc/interrupts, summed over CPUs. */
#ifndef MEMWHY_SYS_INTERRUPTS_H
#define MEMWHY_SYS_INTERRUPTS_H

#include "base/str.h"

/* name: as before the colon, "TLB". -ENOENT: there is no such row. */
int interrupts_parse(const char *text, const char *name, u64 *ret);
/* text: holds the file meanwhile. */
int interrupts_read(struct str *text, const char *name, u64 *ret);

#endif
