/*
 * The arguments of system calls: what each is, for those who show them. Owns a table made of the
 * kernel's own metadata (events/syscalls/.../format in tracefs) and what the manual pages say of
 * flags; reads nothing. A kernel's newer calls are not in it: there the metadata itself is asked.
 */
#ifndef MEMWHY_SYS_SYSCALL_ARGS_H
#define MEMWHY_SYS_SYSCALL_ARGS_H

#include "base/util.h"

#define SYSCALL_ARGS 6

/* How an argument is written, and what of the memory it points to is worth a copy. */
enum syscall_arg {
	ARG_NONE,
	ARG_INT,   /* 32 bits, signed */
	ARG_UINT,  /* 32 bits */
	ARG_LONG,  /* signed */
	ARG_ULONG, /* unsigned; sizes and counts */
	ARG_HEX,
	ARG_OCT,
	ARG_PTR, /* NULL, or an address */
	ARG_FD,
	ARG_AT,       /* a directory, or AT_FDCWD */
	ARG_STR,      /* a text: a path, a name */
	ARG_IN,       /* bytes that go in, as many as the next argument says */
	ARG_OUT,      /* bytes that come out, as many as the call returns */
	ARG_PAIR,     /* two descriptors that come out */
	ARG_TIMESPEC, /* structures; with an O before their name, where the call fills them */
	ARG_OTIMESPEC,
	ARG_CHANGED,   /* struct timespec that the call makes what is left of it */
	ARG_REMAINING, /* struct timespec that is filled where the call is interrupted */
	ARG_TIMEVAL,
	ARG_OTIMEVAL,
	ARG_ITIMER,
	ARG_OITIMER,
	ARG_ITIMERSPEC,
	ARG_OITIMERSPEC,
	ARG_STAMPS, /* struct timespec[2] of utimensat */
	ARG_EVENT,  /* struct epoll_event */
	ARG_EVENTS, /* as many of it as the call returns */
	ARG_POLL,   /* struct pollfd, as many as the next argument says */
	ARG_NODES,  /* a mask of nodes, its first word */
	ARG_SIGSET, /* its first word */
	ARG_OSIGSET,
	ARG_SIGACTION,
	ARG_OSIGACTION,
	ARG_STAT,
	ARG_STATX,
	ARG_RLIMIT,
	ARG_ORLIMIT,
	ARG_FLOCK, /* of fcntl, with a command that takes one */
	ARG_WSTATUS,
	ARG_CLONE3,    /* the beginning of struct clone_args */
	ARG_SOCKADDR,  /* as many bytes as the next argument says */
	ARG_OSOCKADDR, /* as many as the next argument points to, before and after */
	ARG_SOCKLEN,   /* that next one */
	ARG_OPTVAL,    /* value of a socket option, as ARG_SOCKADDR */
	ARG_OOPTVAL,   /* … as ARG_OSOCKADDR */
	ARG_LEVEL,     /* of a socket option */
	ARG_OPTION,
	ARG_PROTOCOL, /* of a socket */
	ARG_IOV,      /* a vector of as many parts as the next argument says */
	ARG_OIOV,
	ARG_MSG, /* struct msghdr */
	ARG_OMSG,
	ARG_IOCTL_ARG,
	ARG_ARGV,     /* an array of texts */
	ARG_PATH_OUT, /* a text that comes out, with its NUL, which the call counts */
	ARG_RANDOM,   /* bytes that come out and are no text */
	ARG_RUSAGE,   /* its two times */
	ARG_STATFS,
	ARG_SYSINFO,
	ARG_UNAME,
	ARG_FDSETS, /* fd_set of select, the first of three */
	ARG_FDSET,
	ARG_SELECT_TIMEVAL, /* how long it waits */
	ARG_SELECT_TIMESPEC,
	ARG_SIGMASK, /* of pselect6: a mask and its size */
	ARG_SIGNAL,
	ARG_IOCTL,
	ARG_CLONE, /* flags, with a signal in the low byte */
	ARG_FLAGS, /* from here on: a table of flags, see syscall_flags.h */
};

/* What each argument of a call is: SYSCALL_ARGS of them, ARG_NONE behind the last. NULL: the table
 * does not have the call. `compat`: as 32-bit programs call it. */
const u8 *syscall_args_of(const char *name, bool compat);
/* Calls fn with each call of the table, for tests. */
void syscall_args_each(void (*fn)(void *arg, const char *name, const u8 *args), void *arg);

#endif
