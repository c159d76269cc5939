/* What bpf/inodes.bpf.c and its loader, capture/inodes.c, agree on. */
#ifndef MEMWHY_BPF_INODES_H
#define MEMWHY_BPF_INODES_H

#include "base/types.h"

#define INODES_RUN 1024 /* looked at in one run */
#define INODES_PATH 512
#define INODES_NAME 64 /* of a path, and of a group */
#define INODES_GROUPS 16384
#define INODES_TELL (1ULL << 63) /* with the id of a group: see group_add */

enum inodes_of {
	INODES_OF_FILE,  /* the file system that a file is on */
	INODES_OF_BLOCK, /* all block devices, by the one that the file system is on */
};

/* Where a walk is. Asked for by the loader, answered by each run. */
struct inodes_walk {
	u32 fd;       /* of a file on the file system; of the loader, which runs the program */
	u32 of;       /* enum inodes_of */
	u64 least;    /* pages of a file that is reported */
	u64 sb, next; /* next 0: begin */
	u64 prev;     /* the one before, which is done; 0: not known */
	u64 looked, files, pages; /* inodes; those with pages; their pages */
	u32 found;                /* told in this run: the first of `found` */
	u32 peek;                 /* 1: find the file system, and do not begin */
	u32 pinned; /* uses of a name by the file system itself: 1 where it lives in memory */
	u32 ended; /* 1: at the end of the list; 2: the list changed, and its end was not reached */
};

enum inodes_flags {
	INODES_OPEN = 1,     /* somebody has it open or mapped */
	INODES_REMOVED = 2,  /* it has no name any more */
	INODES_NAMELESS = 4, /* … and its path is not known */
};

struct inodes_file {
	u64 ino, pages, group; /* group: of its first page; a control group's id, 0: not known */
	u32 rdev;  /* of a block device, as the kernel has it: minor in the low 20 bits */
	u16 flags; /* enum inodes_flags */
	u16 n;     /* of path */
	char path[INODES_PATH]; /* names from the file up to the root, each with a zero behind it */
};

/* Files whose first page is charged to a group. Key: its id. */
struct inodes_group {
	u64 files, pages, largest; /* largest: pages of the largest file */
	u32 dying;                 /* it was removed */
	u32 reserved;
	char name[INODES_NAME]; /* of its directory, where it was removed */
};

#endif
