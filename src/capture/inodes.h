/*
 * Which files have pages in memory, by a BPF program that walks the inodes of a file system
 * (bpf/inodes.bpf.c). Owns the walk; what a file system is and where it is mounted is the caller's
 * matter.
 */
#ifndef MEMWHY_CAPTURE_INODES_H
#define MEMWHY_CAPTURE_INODES_H

#include "base/groups.h"
#include "bpf/inodes.h"

struct inodes;

struct inodes_taker {
	void *arg;
	u64 least;                /* pages of a file that is handed on */
	u32 pinned;               /* 1: it lives in memory, and names of files are in use by that */
	u64 until_ns;             /* CPU time of this thread: then the walk ends */
	struct groups *groups;    /* group id -> struct inodes_group: added to */
	void (*begin)(void *arg); /* of a walk; it may be begun again */
	int (*file)(void *arg, const struct inodes_file *f);
};

struct inodes_sum {
	u64 sb; /* of the file system, to know it again */
	u64 looked, files, pages;
	bool partial; /* it changed too fast, or would have taken too long */
};

/* -EPERM, and what libbpf says where the kernel cannot do it. */
int inodes_open(struct inodes **ret);
void inodes_close(struct inodes *s);
/* sb: which file system that is, without a walk; 0: none. */
u64 inodes_of(struct inodes *s, int fd, enum inodes_of of);
int inodes_walk(struct inodes *s, int fd, enum inodes_of of, const struct inodes_taker *t,
	struct inodes_sum *ret);

/* The names of its path, from the root of the file system on: "/a/b". */
void inodes_path(const struct inodes_file *f, char *ret, size_t size);

#endif
