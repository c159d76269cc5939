/*
 * What is mounted where, from /proc/self/mountinfo. Owns the format; which mount is wanted is the
 * caller's matter.
 */
#ifndef MEMWHY_SYS_MOUNTS_H
#define MEMWHY_SYS_MOUNTS_H

#include "base/vec.h"

#define MOUNTS_MAX 65536

/* The strings are owned by the struct mounts; \040 and its like are characters again. */
struct mount {
	u32 id;
	u32 parent;
	const char *root;  /* which directory of the file system is mounted: "/" for all of it */
	const char *point; /* where */
	const char *options;
	const char *fstype;
	const char *source;
	const char *super_options; /* comma-separated; of a cgroup v1 mount, its controllers */
};

/* To be zeroed before its first use. */
struct mounts {
	VEC(struct mount) list; /* in the order of the file: later ones may hide earlier ones */
	char *text;             /* holds the strings */
};

#define _cleanup_mounts_ _cleanup_(mounts_free)

void mounts_free(struct mounts *mounts);
/* Replaces what ret held. Lines of another form are skipped; -EINVAL when all are, -ENOMEM. */
int mounts_parse(const char *text, struct mounts *ret);
int mounts_read(struct mounts *ret);
/* The mount of this type that has this word among its super options (NULL: any options): the first
 * that shows all of its file system, or else the first. NULL where there is none. */
const struct mount *mounts_find(
	const struct mounts *mounts, const char *fstype, const char *super_option);

#endif
