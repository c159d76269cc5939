/*
 * A few user stacks of one process, at its page faults, for sessions that otherwise have the
 * kernel's walk by frame pointers (check): with each sample the kernel copies the registers and the
 * end of the stack (perf_event_open(2), PERF_SAMPLE_STACK_USER), and they are walked here by the
 * unwind tables of its files. A table is made when a stack goes through its file, by a process that
 * can do nothing else (capture/reader), and dropped with the samples. Must not know what the
 * samples are for.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_STACK_SAMPLES_H
#define MEMWHY_CAPTURE_UNWIND_STACK_SAMPLES_H

#include "capture/capture.h"

/* Frames of a stack, the innermost ones: those below tell where memory is taken for, not what of.
 */
#define STACK_SAMPLES_DEPTH 16

/* Is a session one of those? */
static inline bool stack_samples_wanted(const struct capture_options *o)
{
	return o->gentle && o->user_stacks && o->plain_stacks && !o->watch_ns;
}

struct stack_sample {
	u64 address; /* that was touched */
	u32 stack;   /* see names_stack(); 0: no caller was found */
};

struct sample_opener; /* capture/unwind/sample_opener.h */
struct stack_samples;

/* Samples one fault in `every` of the threads with most faults so far. -errno: perf_event_open(2)
 * or mmap(2) of its ring; -ESRCH: it is gone. */
int stack_samples_open(struct capture *c, struct sample_opener *opener, u32 tgid, u64 every,
	struct stack_samples **ret);
/* Walks what came since; nothing more is taken after `most` samples. */
int stack_samples_take(struct stack_samples *s, size_t most);
const struct stack_sample *stack_samples_get(const struct stack_samples *s, size_t *ret_n);
void stack_samples_close(struct stack_samples *s);

#endif
