/*
 * How an allocator other than glibc's gives back to the kernel what a program has freed. Fed by the
 * rule of `check` and by the view of `where` alike; knows no record.
 */
#ifndef MEMWHY_ANALYSIS_GIVE_BACK_H
#define MEMWHY_ANALYSIS_GIVE_BACK_H

#include "report/report.h"

/*
 * What goes with a command that has gdb call a function: gdb writes back all registers, and before
 * version 14 it has no room for AMX's. Where it fails, a system call that it interrupted is not
 * resumed.
 */
#define GDB_CALLS                                                                         \
	"gdb 14 or later if /proc/cpuinfo has amx_tile: an earlier one fails there, and " \
	"the interrupted process may, too"

struct give_back {
	const char *allocator; /* "jemalloc" */
	const char *process;   /* its name */
	u32 tgid;
	u64 kept_bytes;    /* pages with nothing but free blocks */
	u64 between_bytes; /* free blocks on pages with live ones */
	s64 decay_ms;      /* of jemalloc; below 0: not known, or never */
};

/* Is there so much of such pages, or of these and free blocks, beside what the process has? */
bool give_back_matters(const struct give_back *g, u64 has_bytes);
/* Adds try, undo, verify and why. false: nothing is known of this allocator. */
bool give_back_tell(struct report *r, struct finding *f, const struct give_back *g);

#endif
