/*
 * What a process that reads the bytes of others may still do. There is no way back out: it has no
 * capability and can regain none, and a seccomp filter lists the system calls that are left. Knows
 * nothing of what is read.
 */
#ifndef MEMWHY_CAGE_CAGE_H
#define MEMWHY_CAGE_CAGE_H

#include "base/err.h"

enum cage {
	CAGE_INPUT,  /* reads and writes what is open, and opens nothing */
	CAGE_FILES,  /* the same, and opens files to read them, by the rights of its user; kernel
			symbols */
	CAGE_SCREEN, /* as CAGE_INPUT, and sets how its terminal reads and writes */
	CAGE_READER, /* as CAGE_INPUT, and takes descriptors over a socket it has */
	CAGE_WRITER, /* as CAGE_FILES, and makes and removes files, but changes none that was there;
			asks and is answered over a socket */
	CAGE_OPENER, /* asks and is answered over a socket, and opens perf events of any process:
			keeps the rights that takes */
};

/*
 * For the calling process, which has one thread. -EOPNOTSUPP: the kernel has no filters of system
 * calls; the capabilities are gone all the same. -errno: the process is as it was, or has less.
 */
int cage_enter(enum cage which, struct err *err);

/* What a session may be in need of yet. */
enum {
	CAGE_SPAWNS = 1,  /* it starts a program */
	CAGE_BORROWS = 2, /* it looks at what others have open through descriptors of its own */
};

/*
 * A filter for all threads of a process that observes others: it lists what a session never calls
 * once it is attached, and all else stays. needs: of those above. The process has no_new_privs.
 * -EOPNOTSUPP as above.
 */
int cage_session(unsigned needs, struct err *err);

/* Drops the bounding set and sets no_new_privs; capabilities in `keep` (CAP_..., n of them) stay,
 * where they were had. For the calling thread. */
int cage_capabilities(const int *keep, unsigned n, struct err *err);

#endif
