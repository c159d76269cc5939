/*
 * Sets of small numbers as the kernel lists them: cpus, nodes ("0-3,8,10-11"). Owns the format.
 */
#ifndef MEMWHY_SYS_IDSET_H
#define MEMWHY_SYS_IDSET_H

#include "base/util.h"

/* Linux has at most 8192 cpus (NR_CPUS on x86-64) and 1024 nodes. */
#define IDSET_MAX 8192

struct idset {
	u64 bits[IDSET_MAX / 64];
};

/* An empty list is an empty set. -EINVAL; -ERANGE for ids from IDSET_MAX on. */
int idset_parse(const char *text, struct idset *ret);
bool idset_has(const struct idset *set, u32 id);
u32 idset_count(const struct idset *set);
/* The smallest id that is at least `from`; IDSET_MAX when there is none. For loops:
 * `for (u32 id = idset_next(set, 0); id < IDSET_MAX; id = idset_next(set, id + 1))`. */
u32 idset_next(const struct idset *set, u32 from);

#endif
