/*
 * Opening files as another process sees them: below its root directory, in its own mount
 * namespace, following its links and never ours. Owns the rules that make it safe: only regular
 * files are ever opened for reading (a FIFO would hang us, a device may act on being opened), and
 * a path cannot lead out of the root. Must not know of modules or symbols.
 */
#ifndef MEMWHY_SYM_ROOTFS_H
#define MEMWHY_SYM_ROOTFS_H

#include <limits.h>
#include <sys/types.h>

#include "base/util.h"

/* The root directory of the caller itself, in place of a descriptor. */
#define ROOT_OURS (-100)

/* Which root directory a process has. */
struct root_id {
	u64 namespace_ino;
	u64 dev;
	u64 ino;
};

/* Opens a regular file by a path of ours (/proc/PID/exe, for one). -ENOTSUP: not regular. */
int regular_open(const char *path, int *ret_fd);
/* Opens the regular file at an absolute path below root_fd (or ROOT_OURS). */
int root_open_file(int root_fd, const char *path, int *ret_fd);
/* Where an open file is, links followed. -ENOENT. */
int fd_path(int fd, char ret[PATH_MAX]);
/* pid 0 is the caller. */
int root_identify(pid_t pid, struct root_id *ret);
/* Opens the root directory of a process. Holding it keeps that mount in being. */
int root_open(pid_t pid, int *ret_fd);

static inline bool root_id_equal(const struct root_id *a, const struct root_id *b)
{
	return a->namespace_ino == b->namespace_ino && a->dev == b->dev && a->ino == b->ino;
}

#endif
