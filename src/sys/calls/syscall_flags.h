/*
 * The names of what system calls take as flags, operations and kinds, and of errors and signals, as
 * in their manual pages. Owns the tables that sys/calls/flags.h does not have, the form of ioctl
 * numbers, and which table belongs to which argument. Values are ABI of x86-64.
 */
#ifndef MEMWHY_SYS_SYSCALL_FLAGS_H
#define MEMWHY_SYS_SYSCALL_FLAGS_H

#include "sys/calls/flags.h"

/* The table of an argument (an enum syscall_arg from ARG_FLAGS on); NULL: there is none. */
const struct flag *syscall_flags(u8 arg);
/* The number of the word that syscall_args.c writes it with, -ENOENT. */
int syscall_flags_find(const char *word, size_t n);

extern const struct flag clone_flags[];
extern const struct flag epoll_events[];
extern const struct flag poll_events[];
extern const struct flag message_flags[]; /* of sendmsg */
extern const struct flag open_flags[];
extern const struct flag whences[];
extern const struct flag descriptor_flags[]; /* of F_SETFD */
extern const struct flag lock_types[];
extern const struct flag file_systems[]; /* f_type of statfs */
extern const struct flag statfs_flags[]; /* f_flags of statfs */
extern const struct flag file_types[];   /* of st_mode */
extern const struct flag statx_mask[];
extern const struct flag statx_attributes[];
extern const struct flag sigaction_flags[];
#define SIGACTION_RESTORER 0x04000000

/* "AF_INET"; NULL: not known. */
const char *address_family(u32 family);

/* "TCGETS", else "_IOC(_IOC_READ, 0x54, 0x30, 0x4)". */
void ioctl_add(struct str *s, u32 number);
/* "SIGTERM", "SIGRT_3", else the number. */
void signal_add(struct str *s, u64 number);
/* The same without SIG, as sets of signals have it. */
void signal_short_add(struct str *s, u64 number);
/* "ENOENT"; NULL: not known. With those that only the kernel sees (ERESTARTSYS, ...). */
const char *error_name(u64 number);
/* "No such file or directory". */
const char *error_text(u64 number);
/* The number of an error's name, -ENOENT. */
int error_number(const char *name);

/* Commands and operations that change what follows them. */
#define FUTEX_CMD_MASK 0x7f
#define OPEN_CREATES 0x400040 /* O_CREAT, O_TMPFILE without O_DIRECTORY: a mode follows */

#endif
