/* Where a file system is mounted, as a process sees it, and how much it may hold. */
#ifndef MEMWHY_SYS_MOUNT_ROOM_H
#define MEMWHY_SYS_MOUNT_ROOM_H

#include <limits.h>

#include "base/util.h"

struct mount_room {
	char point[PATH_MAX]; /* as that process names it */
	u64 bytes;            /* 0: no bound */
	u64 inodes;           /* of mount_inodes_full(): how many it may have */
};

/* The first mount of a device (as the kernel has it: 20 bits of minor number) in the text of
 * /proc/PID/mountinfo. False: none is. */
bool mount_point_find(const char *mountinfo, u32 device, char ret[PATH_MAX]);
/* -ENOENT: the process is gone, or has it mounted nowhere. */
int mount_room_read(u32 pid, u32 device, struct mount_room *ret);
/* The first tmpfs that this process sees which has a bound of inodes and none of them free.
 * -ENOENT: none. */
int mount_inodes_full(u32 pid, struct mount_room *ret);

#endif
