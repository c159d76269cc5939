/* Whole small files, as /proc and /sys serve them. */
#ifndef MEMWHY_BASE_FILE_H
#define MEMWHY_BASE_FILE_H

#include <sys/stat.h>

#include "base/str.h"

#define FILE_READ_MAX (64UL << 20)

/* Reads the rest of an open file, at most `most` bytes, into out, which is cleared first. 0 or
 * -errno (-EFBIG: the file is longer). On failure out holds what was read. */
int file_read_fd(int fd, size_t most, struct str *out);
/* Reads the file at path (relative to dirfd, or AT_FDCWD) to its end, at most FILE_READ_MAX bytes.
 */
int file_read_at(int dirfd, const char *path, struct str *out);
int file_read(const char *path, struct str *out);
/* As file_read_at, of a file that one read(2) gives whole, as most of /proc/PID and all of a
 * control group: without the read that finds its end. */
int file_read_once_at(int dirfd, const char *path, struct str *out);

/* Opens a regular file for reading (-EINVAL: it is not one) and returns its stat. Never waits, as
 * an open of a FIFO would for a writer. Returns the descriptor or -errno. */
int file_open_regular(const char *path, struct stat *ret_st);

/* How many files may be kept open: a quarter of what this process may have, 1 to most. */
unsigned int file_room(unsigned int most);

#endif
