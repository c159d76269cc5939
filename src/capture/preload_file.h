/*
 * The file that the preload library is loaded from. Its path goes into the environment of the
 * observed command, and from there into programs that live on after memwhy or run as another user.
 * So it lies where nobody but root (and who runs memwhy) can put another file, now or later: beside
 * memwhy or in ../lib/memwhy; else it is made, under a name that only depends on its content, in
 * /run/memwhy or /var/cache/memwhy, or for a user in a directory of the user's own. What was made
 * is removed by the last memwhy that used it, unless a process still has it.
 */
#ifndef MEMWHY_CAPTURE_PRELOAD_FILE_H
#define MEMWHY_CAPTURE_PRELOAD_FILE_H

#include <limits.h>

#include "base/err.h"

struct preload_file {
	char path[PATH_MAX];
	int fd; /* locked as long as it is used; -1: it was there before */
};

/* The file beside memwhy, if it can be used; else NULL. */
const char *preload_file_beside(void);
/* *ret is to be closed also when this failed. */
int preload_file_open(struct preload_file *ret, struct err *err);
void preload_file_close(struct preload_file *f);

/* Can nobody but root and this user write to the path, or to any directory above it? For root also:
 * may everybody read it? */
bool preload_path_is_safe(const char *path, uid_t user);

#endif
