/*
 * Threads of a program that ask whether a system call is sure to be allowed (tracker/sure.h): what
 * the kernel says of their seccomp filters. A thread that waits for its ring to be read spins until
 * it is answered, so the reader looks between any two batches of words.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_ASKS_H
#define MEMWHY_PROBES_HEAP_COLLECT_ASKS_H

#include "probes/heap/collect/tracked_program.h"

void asks_answer_all(struct tracked_program *program);
/* Threads that walk stacks with the kernel's help do not ask each time: looks at these now. */
void asks_look(struct tracked_program *program);

static inline void asks_answer(struct tracked_program *program)
{
	if (program && program->asks != __atomic_load_n(&program->head->asks, __ATOMIC_ACQUIRE))
		asks_answer_all(program);
}

#endif
