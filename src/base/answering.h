/*
 * Files whose server may never answer (NFS, FUSE). Touching one can block forever, and no signal
 * may end it. So a separate process touches them first, which is left behind if it does not come
 * back. Owns how long memwhy waits.
 */
#ifndef MEMWHY_BASE_ANSWERING_H
#define MEMWHY_BASE_ANSWERING_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/types.h"

struct answering_how {
	void (*shut_in)(void); /* gives up rights: it keeps those it was begun with */
	/* Tells of a process that asks, and, where it is late, that it no longer matters. */
	void (*ran)(void *arg, pid_t pid, bool begins);
	void *arg;
};

/* Until then, and where it fails, answering_open() waits as long as it takes. 0 or -errno. */
int answering_begin(const struct answering_how *how);
void answering_end(void);

/* As openat2(2) with O_PATH, of a file whose file system answers now. Returns the descriptor or
 * -errno; -ETIMEDOUT: it has not answered. What is asked while others wait is given less time. */
int answering_open(int dirfd, const char *path, unsigned flags, unsigned resolve);
/* The same of a regular file, to read from: its server lets its first page be read now. -ENOTSUP:
 * it is none. */
int answering_open_to_read(int dirfd, const char *path, unsigned resolve);
/* How often there was no answer; *ret_first: of which path at first. */
u64 answering_missed(const char **ret_first);

/* As fstatat(2), but with what the kernel knows, without a word to a server, and without mounting
 * anything. Only what is set here: st_dev, st_ino, st_mode, st_uid, st_blocks, st_mtim. */
int stat_known(int dirfd, const char *path, int flags, struct stat *ret);

#endif
