/* move_pages(2): on which node single pages of a process are, and moving them. Owns the calls. */
#ifndef MEMWHY_SYS_PROCESS_MOVE_PAGES_H
#define MEMWHY_SYS_PROCESS_MOVE_PAGES_H

#include "base/util.h"

/* The node of each page, or -errno where it has none: -ENOENT (not present), -EFAULT (not mapped,
 * the zero page), -EACCES … 0, -ESRCH, -EPERM, -ENOMEM. */
int pages_ask(int pid, const u64 *addresses, size_t n, int *ret_nodes);
/* Moves each to its node; ret_nodes is where it then is, or -errno. A page that several processes
 * map stays where it is (-EACCES). */
int pages_move(int pid, const u64 *addresses, const int *nodes, size_t n, int *ret_nodes);

#endif
