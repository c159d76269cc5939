/* See pages.h. */
#include "sys/process/move_pages.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MPOL_MF_MOVE 2 /* linux/mempolicy.h */
#define BATCH 4096UL   /* the mmap lock is given back between two */

int pages_move(int pid, const u64 *addresses, const int *nodes, size_t n, int *ret_nodes)
{
	for (size_t at = 0; at < n; at += BATCH) {
		long rc = syscall(SYS_move_pages, pid, MIN(n - at, BATCH), addresses + at,
			nodes ? nodes + at : NULL, ret_nodes + at, nodes ? MPOL_MF_MOVE : 0);

		if (rc < 0) /* above 0: so many were not moved, the status says which */
			return -errno;
	}
	return 0;
}

int pages_ask(int pid, const u64 *addresses, size_t n, int *ret_nodes)
{
	return pages_move(pid, addresses, NULL, n, ret_nodes);
}
