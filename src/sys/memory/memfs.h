/*
 * File systems that live in memory: what the files of each tmpfs take, in every mount namespace
 * that some process is in. Owns finding them.
 */
#ifndef MEMWHY_SYS_MEMFS_H
#define MEMWHY_SYS_MEMFS_H

#include <limits.h>

#include "base/vec.h"

#define MEMFS_NAMESPACES 256 /* of those beyond, mounts are not looked for */
#define MEMFS_MAX 4096

struct memfs {
	u64 device;     /* st_dev: the identity of the file system */
	u64 used_bytes; /* of its files, those in swap and those removed but open included */
	u64 inodes, most_inodes; /* its files and directories, and how many it may have */
	u32 pid;                 /* 0: mounted in our own namespace; else a process that sees it */
	bool unlimited; /* it has no size limit, so that the kernel does not say what is used */
	char *point;    /* where it is mounted, there */
};

/* To be zeroed before its first use. */
struct memfs_list {
	VEC(struct memfs) list;
	bool cut;     /* there were more namespaces, or file systems */
	bool refused; /* there are processes whose namespaces we may not see */
};

/* What is used in the file system at this path below sys_root(), and which it is. -ENOENT: none in
 * memory is, or another one is mounted over it. */
int memfs_used(const char *point, struct memfs *ret);
/* Is a mount of this type one? ramfs is not: its pages are page cache. */
bool memfs_is(const char *fstype);
void memfs_free(struct memfs_list *l);
/* Replaces what l held. 0 or -ENOMEM. */
int memfs_read(struct memfs_list *l);

#endif
