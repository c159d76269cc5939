/*
 * The kernel's file systems that a host need not have mounted: tracefs and debugfs. Where they are
 * mounted, that mount is used; where they are not, a mount of memwhy's own, which is attached to no
 * directory: it appears in no mount table and ends with memwhy (fsopen(2), fsmount(2), Linux 5.2,
 * CAP_SYS_ADMIN). Owns that mount; knows no file in it.
 */
#ifndef MEMWHY_SYS_KERNELFS_H
#define MEMWHY_SYS_KERNELFS_H

#include <limits.h>

#include "base/types.h"

enum kernelfs {
	KERNELFS_TRACE, /* tracefs, else "tracing" in debugfs, where the kernel mounts it */
	KERNELFS_DEBUG,
	KERNELFS_N,
};

/*
 * The directory through which it can be reached, without a slash at its end: found once and kept.
 * -ENOENT: it is not mounted and the kernel has none, -EPERM: it is not mounted and we may not
 * mount it. That it is mounted does not mean that we may look into it.
 */
int kernelfs_find(enum kernelfs fs, char ret_dir[PATH_MAX]);
/* The same file by a path that can be opened: one below /sys/kernel/tracing or /sys/kernel/debug,
 * where these are usually mounted, is looked for where they are. Other paths stay as they are. */
void kernelfs_path(char path[PATH_MAX]);
/* To be called after fork(), where all descriptors are closed: the next who asks mounts anew. */
void kernelfs_forget(void);

#endif
