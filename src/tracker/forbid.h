/*
 * What the program forbids itself, and so us: system calls, once it has a seccomp filter, and the
 * time stamp counter. A filter may end the program for a call that it never makes.
 */
#ifndef MEMWHY_TRACKER_FORBID_H
#define MEMWHY_TRACKER_FORBID_H

#include "tracker/calls.h"

extern OURS int calls_forbidden; /* make no system call */
extern OURS int clock_forbidden; /* do not read the time stamp counter: it faults */

/*
 * At the program's begin: how many seccomp filters it has, or 1 where the kernel does not count
 * them (before 5.9); below 0: not known. Makes only the calls that the loader made to load us.
 */
int filters_count(void);
/* The same for the counter: sets clock_forbidden if the program was begun so. Makes a call. */
void clock_look(void);

#endif
