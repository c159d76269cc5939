/*
 * What the program forbids itself, and so us: system calls, once it has a seccomp filter, and the
 * time stamp counter. A filter may end the program for a call that it never makes. One that is
 * installed by a function of libc is noticed here, one by an instruction of the program where
 * memwhy has a BPF program that says so.
 */
#ifndef MEMWHY_TRACKER_FORBID_H
#define MEMWHY_TRACKER_FORBID_H

#include "base/filter_marks.h"
#include "tracker/calls.h"

extern OURS int calls_forbidden; /* make no system call */
/* What memwhy knows of filters of the program, see base/filter_marks.h. NULL: nothing. */
extern OURS const struct filter_row *filter_row;
extern OURS u16 filter_generation;
OURS int filters_seen(void);

/* To be asked right before a call: another thread may give this one a filter at any time. */
static inline int calls_are_forbidden(void)
{
	return calls_forbidden || (filter_row && filters_seen());
}

#define NOT_CALLED (-1L) /* EPERM */
#define may_call(n, ...) (calls_are_forbidden() ? NOT_CALLED : call(n, ##__VA_ARGS__))

/* Finds out where libc keeps the id of a thread; before the program's own code runs. */
void thread_id_find(void);
/* What it is; 0: not known. */
u32 thread_id(void);
/* The same of the only thread of a fork that is new. */
u32 fork_id(void);
extern OURS int clock_forbidden; /* do not read the time stamp counter: it faults */

/*
 * At the program's begin: how many seccomp filters it has, or 1 where the kernel does not count
 * them (before 5.9); below 0: not known. Makes only the calls that the loader made to load us.
 */
int filters_count(void);
/* The same for the counter: sets clock_forbidden if the program was begun so. Makes a call. */
void clock_look(void);

#endif
