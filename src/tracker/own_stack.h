/*
 * A thread's own stack, as far as it is read where it lies: and what is done before any thread of
 * the program takes memory away from there, or forbids to read it.
 *
 * Who takes says so first (memory_goes), then looks whose stack it is: that thread learns its stack
 * anew from its next walk on, and a walk that is under way is waited for. A thread that learns its
 * stack says so first, then looks whether anything was taken since its walk began. So one of the
 * two sees the other.
 */
#ifndef MEMWHY_TRACKER_OWN_STACK_H
#define MEMWHY_TRACKER_OWN_STACK_H

#include "tracker/thread.h"

/* The own stack of a slot. */
struct own_stack {
	u64 low, high; /* what others see of its thread's stack_low and stack_high */
	u32 epoch;
	u32 left; /* a walk that did not end: it is not waited for again */
	struct own_walk *walk;
};

/* In the memo of a slot: its thread asks at each walk. */
struct own_walk {
	u32 walks;     /* odd: one is under way; else twice as many as there were */
	u32 forgotten; /* what stacks_forgotten was when the stack was learnt; else it is void */
};

#define OWN_STACK_CHANGES (~0U) /* memory is being taken right now */

extern OURS u32 stacks_forgotten;

/* The thread has taken this slot. walk: NULL if there is no memory for it: its stack is never
 * known. */
void own_stack_begin(struct thread *t, u32 slot, struct own_walk *walk);
void own_stack_forget(struct thread *t);
/* In a forked child, which is alone. */
void own_stacks_fork(void);
/* As a walk begins that may learn: for own_stack_learn(). */
u32 own_stack_changes(void);
/* The walk found its stack mapped from `low` up to `high`. Nothing is learnt if memory was taken
 * since. */
void own_stack_learn(struct thread *t, u64 low, u64 high, u32 changes);
/* Around mmap, mprotect, pkey_mprotect, madvise, mremap, munmap, shmat or shmdt (SYS_mmap, ...),
 * with the arguments of the call. Returns whether it may take memory, for memory_is_gone(). */
int memory_goes(long number, u64 a, u64 b, u64 c, u64 d, u64 e);
void memory_is_gone(int goes);

#endif
