/*
 * Where /proc and /sys are. Every reader of this layer takes its path through here, so that a
 * test can point all of them at a captured tree. Owns the root prefix; knows no file's format.
 */
#ifndef MEMWHY_SYS_ROOT_H
#define MEMWHY_SYS_ROOT_H

#include <limits.h>

#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"

/* The prefix of every path, without a slash at its end: "" on the running system. Never NULL. */
const char *sys_root(void);
/* Sets the prefix (copied; NULL means ""). For tests, before any thread is started. 0 or
 * -ENAMETOOLONG. */
int sys_root_set(const char *root);

/*
 * All of these take an absolute path as a format and prepend the root. Paths below
 * /sys/kernel/tracing and /sys/kernel/debug work without a mount (kernelfs.h). Results come before
 * the format, because its arguments come last. -ENAMETOOLONG beyond PATH_MAX, else the error of the
 * system call: a process or a cgroup may vanish at any time.
 */
int sys_path(char ret_path[PATH_MAX], const char *fmt, ...) _printf_(2, 3);
/* The whole file, as file_read(). */
int sys_read(struct str *ret_text, const char *fmt, ...) _printf_(2, 3);
/* … as file_read_once_at(). */
int sys_read_once(struct str *ret_text, const char *fmt, ...) _printf_(2, 3);
/* A file with one decimal number, not negative (-EINVAL). */
int sys_read_u64(u64 *ret, const char *fmt, ...) _printf_(2, 3);
/* Is it there? 0, -ENOENT, -EACCES (a directory on the way is closed to us), … */
int sys_exists(const char *fmt, ...) _printf_(1, 2);

struct sys_names {
	VEC(char *) list;
};

/* What the directory dir has that begins with start, in the order of bytes, without "." and "..".
 * ret is empty before and on failure. */
int sys_names(struct sys_names *ret, const char *dir, const char *start);
void sys_names_free(struct sys_names *n);
#define _cleanup_sys_names_ __attribute__((cleanup(sys_names_free)))

#endif
