/*
 * Single numbers out of the many small files of /proc and /sys in which the kernel counts its own
 * objects: dentries, inodes, open files, sockets, threads, control groups. Owns where they stand;
 * knows no number's meaning.
 */
#ifndef MEMWHY_SYS_COUNTS_H
#define MEMWHY_SYS_COUNTS_H

#include "base/str.h"

struct count_spec {
	const char *name; /* what it is called in records: "dentry/negative" */
	const char *path;
	const char *line; /* the word its line begins with; NULL: the first line */
	const char
		*word; /* of the line, it stands behind this one; NULL: behind the line's first */
	u32 at;        /* which run of digits it is, from there on: 0 the first */
	bool pages;    /* the kernel counts pages: the value is given in bytes */
};

/* Ends with a NULL name. Those of one path stand together. */
extern const struct count_spec counts[];

/* Finds the number in the text of its file. False where it is not there. */
bool count_parse(const char *text, const struct count_spec *spec, u64 *ret);

/* The number of this name now. -ENOENT: there is none of that name, or not in this kernel. */
int count_read(const char *name, u64 *ret);

#endif
