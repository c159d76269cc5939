/* A small message with a descriptor, over a Unix socket. */
#ifndef MEMWHY_BASE_FD_PASS_H
#define MEMWHY_BASE_FD_PASS_H

#include "base/util.h"

#define FDS_MAX 2

/* Never waits. 0 or -errno (-EAGAIN: the other end has not read what came before). fd: -1 for none.
 */
int fd_send(int socket, const void *data, size_t n, int fd);
/* The same with several, FDS_MAX at most; those below 0 are left out. */
int fds_send(int socket, const void *data, size_t n, const int *fds, size_t n_fds);
/* Exactly n bytes. -ENODATA at the end; -EBADMSG for less. *ret_fd is -1 where none came. */
int fd_receive(int socket, void *data, size_t n, int *ret_fd);

#endif
