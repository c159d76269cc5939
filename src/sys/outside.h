/*
 * The memory of another process, read from outside while it runs. Memory that is not resident is
 * never read, as that would make it resident. Knows nothing of what is in it.
 */
#ifndef MEMWHY_SYS_OUTSIDE_H
#define MEMWHY_SYS_OUTSIDE_H

#include "sys/maps.h"

struct outside {
	int pid, pagemap;
};

/* -EACCES: its memory may not be read. */
int outside_open(int pid, const struct maps *maps, struct outside *ret);
void outside_close(struct outside *o);
#define _cleanup_outside_ _cleanup_(outside_close)

/* arg: a struct outside. -ENODATA where some of it is not resident. At most 256 KiB. */
int outside_read(void *arg, u64 address, void *buf, size_t n);
/* All that is resident from one page to another; the rest is 0. The caller's; NULL: no memory. */
u64 *outside_words(struct outside *o, u64 start, u64 end);
/* Resident bytes of whole pages. */
u64 outside_resident(void *arg, u64 start, u64 end);

#endif
