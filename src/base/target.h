/*
 * Files that memwhy is asked to write, opened so that nothing is lost by accident and nobody else
 * decides where the bytes go. It knows paths and owners, not contents.
 */
#ifndef MEMWHY_BASE_TARGET_H
#define MEMWHY_BASE_TARGET_H

#include "base/err.h"

struct target {
	const char *path;
	const char *cannot; /* begins an error, with the path after it: "cannot record to" */
	bool force;         /* replace what is there, whatever it holds and whosever it is */
	bool streams;       /* pipes and devices will do */
	/* May a file with this content be replaced without `force`? An empty one always may. */
	bool (*replaceable)(int fd);
};

/*
 * Opens t->path for reading and writing and returns 0 with a descriptor that the caller owns, or
 * -errno with an error that names the way out. A new file has mode 0600 and did not exist before
 * (O_EXCL). An existing regular file is opened unchanged, and the caller empties it; it must belong
 * to this user, have no other name, and `replaceable` must agree. A symbolic link is never
 * followed, and a link to a directory on the way only if it belongs to this user or root. With
 * `force` a link, a file of another user or one with other names is replaced by a new file
 * (rename), so that nothing is written through it. Directories, sockets and block devices are
 * refused. A named pipe must belong to this user; its reader is waited for, for at most
 * PIPE_WAIT_SECONDS.
 */
int target_open(const struct target *t, int *ret, struct err *err);

/* N of /dev/fd/N, /proc/self/fd/N, /dev/stdin, stdout, stderr, and 1 for "-": a descriptor that
 * whoever ran memwhy gave it; else -1. */
int target_descriptor(const char *path);

#define PIPE_WAIT_SECONDS 5

/* Opens a file to read it: a descriptor, or -errno. A named pipe is waited for until somebody has
 * written, for PIPE_WAIT_SECONDS at most: -ETIMEDOUT. */
int source_open(const char *path);
/* Says why source_open failed with `code`, and returns that. */
int source_failed(const char *path, int code, struct err *err);

#endif
