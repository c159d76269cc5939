/*
 * Which pages of a process are there, from /proc/PID/pagemap. Owns the format
 * (Documentation/admin-guide/mm/pagemap.rst); it takes the right to look at the process, but none
 * to see page frames.
 */
#ifndef MEMWHY_SYS_PAGEMAP_H
#define MEMWHY_SYS_PAGEMAP_H

#include "base/util.h"

enum page_state {
	PAGE_ABSENT,
	PAGE_PRESENT,
	/* Mapped, but anonymous and not by this process alone: a page shared since a fork, or the
	 * zero page, which is no memory of the process. */
	PAGE_PERHAPS,
	PAGE_SWAPPED,
	PAGE_STATES,
};

enum page_state pagemap_state(u64 entry);
/* Descriptor, to be closed; -ESRCH, -ENOENT: the process is gone; -EACCES: not ours. */
int pagemap_open(int pid);
/* States of n pages from an address on, one byte each. -EIO: it ended before. */
int pagemap_read(int fd, u64 address, u64 n, u8 *ret_states);

#endif
