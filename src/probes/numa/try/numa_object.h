/*
 * The memory that OBJECT of `numa try` means, in a running process: a range of addresses, or a
 * mapping by an address in it or by its name. Its pages, where each is, and the file that remembers
 * where they were.
 */
#ifndef MEMWHY_PROBES_NUMA_TRY_OBJECT_H
#define MEMWHY_PROBES_NUMA_TRY_OBJECT_H

#include "base/err.h"
#include "base/vec.h"

struct numa_object_pages {
	int pid;
	u64 starttime; /* of the process: its identity */
	u64 start, end;
	char name[64];
	VEC(u64) addresses; /* of its pages that are present */
	VEC(int) nodes;     /* of each: the node that it is on */
};

/* 0x7f12-0x7f34, 0x7f12+64M, 0x7f12 (the mapping it is in), [heap], the end of a file's path. */
int numa_object_find(int pid, const char *text, struct numa_object_pages *ret, struct err *err);
/* Fills in the pages. */
int numa_object_look(struct numa_object_pages *o, struct err *err);
/* How many of the pages are on each node; of nodes below n. */
void numa_object_count(const struct numa_object_pages *o, u64 *ret_pages, size_t n);
/* Moves page i to targets[i]. Afterwards `nodes` is where they are; the first -errno of a page that
 * stayed is *ret_why, 0: none. */
int numa_object_move(
	struct numa_object_pages *o, const int *targets, int *ret_why, struct err *err);
/* Where the pages are, for --undo: in a directory of its own, 0700. One a process: -EEXIST. */
int numa_object_save(const struct numa_object_pages *o, struct err *err);
int numa_object_load(int pid, struct numa_object_pages *ret, struct err *err);
void numa_object_forget(int pid);
void numa_object_free(struct numa_object_pages *o);

#endif
