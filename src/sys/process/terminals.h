/* Pseudo-terminals: how many a process finds taken, and how many there may be. Owns the format of
 * /proc/sys/kernel/pty and what a devpts says in its mount's options. */
#ifndef MEMWHY_SYS_TERMINALS_H
#define MEMWHY_SYS_TERMINALS_H

#include <stdbool.h>

#include "base/types.h"

struct terminals {
	u64 taken, max;
	u64 setting;     /* kernel.pty.max, of which max is what it may have; 0: of a mount */
	char mount[256]; /* the devpts whose option max= it is; "": the limit is the machine's */
};

/* As this process sees them. -ENOENT where it sees no devpts, and the kernel counts none. */
int terminals_read(u32 pid, struct terminals *ret);
/* The option max= of a devpts: UINT64_MAX where there is none. */
u64 terminals_max_parse(const char *options);

static inline bool terminals_full(const struct terminals *t)
{
	return t->max && t->taken >= t->max;
}

#endif
