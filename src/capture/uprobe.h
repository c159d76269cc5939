/*
 * Attaches BPF programs to instructions in user space, in the memory of one process only: the
 * kernel puts its breakpoints there and nowhere else. Knows no program and no function.
 *
 * On every kernel from 5.10 on, one perf event attaches a program to the entry or the return of a
 * function. With uprobe sessions (6.13) one link attaches a program to entry and return of many
 * functions; the program decides at each entry whether it wants the return, which otherwise costs
 * nothing.
 */
#ifndef MEMWHY_CAPTURE_UPROBE_H
#define MEMWHY_CAPTURE_UPROBE_H

#include <sys/types.h>

#include "base/types.h"

/* expected_attach_type of a program for sessions. libbpf 1.1 does not know it. */
#define UPROBE_SESSION 57

/* Does the kernel have sessions, for this process? One is tried. */
int uprobe_can_sessions(void);
/* Descriptors of what keeps a program attached, or -errno. path: may be one of /proc. */
int uprobe_open(int prog, const char *path, u64 offset, int returns, pid_t pid);
int uprobe_session_open(
	int prog, const char *path, const u64 *offsets, const u64 *cookies, u32 n, pid_t pid);

/*
 * What a probe adds to a call where the kernel runs the instruction below it in single steps, in
 * ns: measured with a function of our own, without a program, and so the least of it.
 */
int uprobe_step_cost(u64 *ret_ns);

#endif
