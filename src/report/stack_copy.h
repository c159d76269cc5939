/* Stacks of one stream made known to another, with their names, under numbers that are free there.
 */
#ifndef MEMWHY_REPORT_STACK_COPY_H
#define MEMWHY_REPORT_STACK_COPY_H

#include "base/groups.h"
#include "event/stream.h"

struct stack_copy {
	const struct stream *from;
	struct stream *into;
	struct groups copied; /* new number by what it is and the old number */
	u32 next[3];          /* strings, frames, stacks: tried downwards */
};

void stack_copy_init(struct stack_copy *c, const struct stream *from, struct stream *into);
/* The stack's number in `into`; 0 for a stack that `from` does not know. 0 or -ENOMEM. */
int stack_copy(struct stack_copy *c, u32 stack, u32 *ret);
void stack_copy_free(struct stack_copy *c);

#endif
