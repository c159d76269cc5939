/*
 * Fetches debug files from the servers in DEBUGINFOD_URLS by build-id: only on request, because it
 * reveals to others what runs here, and within one time limit for all of them. Owns running
 * debuginfod-find (elfutils), which does the transfer and caches files. Must not know what is in
 * the files.
 */
#ifndef MEMWHY_SYM_DEBUGINFOD_H
#define MEMWHY_SYM_DEBUGINFOD_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct debuginfod {
	u64 ns_left; /* 0: not asked for, or used up */
	u32 asked, had;
	bool broken_off; /* it took too long, or was interrupted: nothing more is asked for */
	/* Called for each process that is run: as it begins, and when it has ended. May be NULL. */
	void (*ran)(void *arg, pid_t pid, bool begins);
	void *arg;
	char program[PATH_MAX];
};

/* max_ns: the most to wait in all. An error where no server or no debuginfod-find is there. */
int debuginfod_open(u64 max_ns, struct debuginfod *ret, struct err *err);
/* A descriptor of the debug file. -ENOENT: no server has it. */
int debuginfod_fetch(struct debuginfod *d, const u8 *build_id, size_t n, int *ret_fd);

#endif
