/*
 * Is a system call sure to be allowed? A seccomp filter that the program installs by an instruction
 * of its own is not noticed here (forbid.h), and may end the program for any call. So once code of
 * the program may have run, memwhy is asked before each call: it looks at what the kernel says of
 * the thread. In between the thread does nothing but spin, so what was seen holds. What another
 * thread gives to all at that moment (SECCOMP_FILTER_FLAG_TSYNC) makes it void, so an answer is
 * good for some microseconds only; but not where the program has many more threads than there are
 * CPUs: these would spin while who answers waits for a CPU.
 *
 * Calls that need no asking: those before the program's own code runs, and those that executing
 * another program takes anyway (exec.c).
 */
#ifndef MEMWHY_TRACKER_SURE_H
#define MEMWHY_TRACKER_SURE_H

#include "tracker/thread.h"

enum sure { SURE_NOT_YET, SURE_YES, SURE_NO /* or it has to be asked again */ };

/* From now on code of the program may run. */
void sure_needed(void);
/* Asks; t has a slot. What is returned is for sure_look(). */
u32 sure_ask(struct thread *t);
enum sure sure_look(const struct thread *t, u32 asked);
/* Asks and waits, not for long. */
int calls_are_sure(struct thread *t);
/* May so few threads spin? */
static inline int threads_are_few(void)
{
	return self->threads <= 2 * track->cpus;
}

/* Does memwhy, or do we, know of a filter? No: there may be one. */
int calls_are_forbidden(void);

int libc_is_glibc(void);
/* Its control block of this thread. */
const void *libc_self(void);
/*
 * The id of this thread where libc keeps it, for which no call is needed; 0: not known. In a forked
 * child it is that of the parent's thread if the program forked by an instruction of its own.
 */
u32 libc_thread_id(void);
/* Finds out where; before the program's own code runs. */
void libc_thread_id_find(void);

#endif
