/* What an open file is, by the text that /proc/PID/fd/N links to. Owns that text's forms. */
#ifndef MEMWHY_SYS_FDLINK_H
#define MEMWHY_SYS_FDLINK_H

#include "base/types.h"

/* On disk, as places of an array: never reorder. */
enum fd_kind {
	FD_FILE, /* a path */
	FD_PIPE,
	FD_SOCKET,
	FD_EPOLL,
	FD_EVENT, /* eventfd, timerfd, signalfd */
	FD_WATCH, /* inotify, fanotify */
	FD_UFFD,  /* userfaultfd */
	FD_BPF_MAP,
	FD_BPF, /* a program or link */
	FD_RING,
	FD_PERF,
	FD_MEMFD,
	FD_SHARED,  /* System V segment, /dev/zero: shared memory without a name */
	FD_DMABUF,  /* a buffer of a device */
	FD_DELETED, /* a path that was removed */
	FD_OTHER,
	FD_KINDS,
};

/* *ret_inode: the number between brackets of pipes and sockets, else 0. */
enum fd_kind fdlink_parse(const char *text, u64 *ret_inode);

#endif
