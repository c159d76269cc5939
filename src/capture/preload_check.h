/*
 * Will the loader preload a library into a program? Not into one without a loader (static), nor one
 * that gets more privileges than who runs it has. Reads ELF files and /proc, which may hold
 * anything.
 */
#ifndef MEMWHY_CAPTURE_PRELOAD_CHECK_H
#define MEMWHY_CAPTURE_PRELOAD_CHECK_H

#include <limits.h>
#include <stdbool.h>

#include "base/types.h"
#include "sys/users.h"

enum preload_why {
	PRELOAD_WORKS,
	PRELOAD_UNKNOWN, /* the file cannot be read */
	PRELOAD_STATIC,
	PRELOAD_CLASS,      /* of 32 bits, or of another machine */
	PRELOAD_PRIVILEGED, /* setuid, setgid or file capabilities */
	PRELOAD_CLEARED,    /* LD_PRELOAD is not in its environment */
	PRELOAD_MISSED,     /* the loader did not come to the library's file, or not asked for it */
	PRELOAD_APART,      /* memwhy's socket is not in its network namespace */
	PRELOAD_SHORT,      /* nothing was seen to be mapped: privileged, or killed as it began */
};

/* "statically linked", … */
const char *preload_why_text(enum preload_why why);
/* What a command runs: of a script, its interpreter. */
struct preload_program {
	char path[PATH_MAX];
	char loader[PATH_MAX]; /* as its ELF header names it; "": none */
};

/* A program as execvp() finds it, run by this user (NULL: who memwhy is); to be asked before memwhy
 * gives up its privileges. */
enum preload_why preload_check_command(
	const char *name, const struct sys_user *as, struct preload_program *ret);
/* Is it to be followed by probes at its allocator instead? */
bool preload_is_in_vain(enum preload_why why);
/* A process that runs: PRELOAD_WORKS: the library is loaded. */
enum preload_why preload_check_process(u32 pid);
/* A program that may have ended, without the library. dynamic: it had a loader. inode: of its file,
 * as that may be another here. */
enum preload_why preload_check_file(const char *path, u64 inode, bool dynamic);
/* Was it started with this path in its environment? No, where that is not ours to see. */
bool preload_is_inherited(u32 pid, const char *path);

#endif
