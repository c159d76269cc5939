/* Who called: the number of the calling thread's present stack. */
#ifndef MEMWHY_TRACKER_STACK_H
#define MEMWHY_TRACKER_STACK_H

#include "tracker/thread.h"

/* frame: __builtin_frame_address(0) of the function that was called. 0: there is no number for it.
 * A stack that has none yet is put into the ring. */
u32 stack_number(struct thread *t, const u64 *frame);
/* Memory will soon be unavailable: takes enough for many more stacks. */
void stack_prepare(void);
/* A place to remember the last stack in, of the thread that has this slot. */
struct memo *stack_memo(u32 slot);
/* Code was unmapped: what was learnt of it is void. */
void stack_forget(void);

#endif
