/* See own_stack.h. */
#include "tracker/own_stack.h"

#include <linux/membarrier.h>
#include <sys/mman.h>

#include "tracker/forbid.h"

u32 stacks_forgotten;

static struct own_stack stacks[TRACK_SLOTS];
static u32 begun, ended; /* of what takes memory */

#define TRIES 30000 /* naps: a walk that a signal handler left for good is waited for no longer */
#define TRIES_YIELD 50 /* the first so many without a sleep */
#define DRAINED 20000  /* pauses; what a processor has yet to write is written long before */

void own_stack_begin(struct thread *t, u32 slot, struct own_walk *walk)
{
	struct own_stack *s = &stacks[slot];

	t->own = s;
	s->walk = walk;
	s->left = 0; /* an even number, of no walk */
	if (walk)
		__atomic_store_n(&walk->walks, 0, __ATOMIC_RELEASE);
	own_stack_forget(t);
	__atomic_store_n(&s->epoch, self->epoch, __ATOMIC_RELEASE);
}

void own_stack_forget(struct thread *t)
{
	t->stack_low = t->stack_high = 0;
	t->own->low = t->own->high = 0;
}

void own_stacks_fork(void)
{
	ended = begun;
}

u32 own_stack_changes(void)
{
	u32 n = __atomic_load_n(&ended, __ATOMIC_ACQUIRE);

	return n == __atomic_load_n(&begun, __ATOMIC_ACQUIRE) ? n : OWN_STACK_CHANGES;
}

static void publish(struct own_stack *s, u64 low, u64 high)
{
	__atomic_store_n(&s->low, low, __ATOMIC_RELAXED);
	__atomic_store_n(&s->high, high, __ATOMIC_RELAXED);
}

void own_stack_learn(struct thread *t, u64 low, u64 high, u32 changes)
{
	struct own_stack *s = t->own;

	if (!s->walk || changes == OWN_STACK_CHANGES)
		return;
	publish(s, low, high);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&begun, __ATOMIC_RELAXED) != changes) {
		publish(s, t->stack_low, t->stack_high);
		return;
	}
	t->stack_low = low;
	t->stack_high = high;
}

/* Each thread of the process has seen what was written before, and what it wrote is seen. */
static void all_see(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!may_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
		!may_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return;
	for (u32 i = 0; i < DRAINED; i++)
		__builtin_ia32_pause();
}

/* For the end of the walk that is under way: its thread may be without a processor for long. */
static void walk_wait(struct own_stack *s)
{
	const struct own_walk *w = s->walk;
	u32 walks = __atomic_load_n(&w->walks, __ATOMIC_ACQUIRE);

	if (!(walks & 1) || walks == s->left)
		return;
	for (u32 i = 0; i < TRIES; i++) {
		if (calls_are_forbidden())
			for (u32 k = 0; k < DRAINED / 10; k++)
				__builtin_ia32_pause();
		else if (i < TRIES_YIELD)
			may_call(SYS_sched_yield);
		else
			thread_nap(0);
		if (__atomic_load_n(&w->walks, __ATOMIC_ACQUIRE) != walks)
			return;
	}
	s->left = walks;
}

/* What is below the frame that runs no walk of this thread comes by. */
static void own_stack_take(struct own_stack *s, u64 end)
{
	int ours = s == thread.own;

	if (ours && end <= (u64)__builtin_frame_address(0))
		return;
	__atomic_store_n(&s->walk->forgotten, stacks_forgotten - 1, __ATOMIC_RELEASE);
	if (ours)
		return;
	all_see();
	walk_wait(s);
}

/* Of whole pages; `bytes` may be 0. */
static void range_take(u64 from, u64 bytes)
{
	u32 epoch = self->epoch, n;
	u64 end = (from + bytes + TRACK_PAGE - 1) & ~(TRACK_PAGE - 1);

	if (!epoch || epoch == SELF_OFF)
		return;
	n = __atomic_load_n(&track->slots, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < n && i < TRACK_SLOTS; i++) {
		struct own_stack *s = &stacks[i];

		if (unlikely(__atomic_load_n(&s->high, __ATOMIC_RELAXED) > from &&
			     __atomic_load_n(&s->low, __ATOMIC_RELAXED) < end &&
			     __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE) == epoch))
			own_stack_take(s, end);
	}
}

#define SPACE (1ULL << 47)      /* of a program */
#define ADVICE_GUARD 102        /* MADV_GUARD_INSTALL, since 6.13 */
#define SEGMENT_REPLACES 040000 /* SHM_REMAP */

/* May the call take memory from where it lies, or forbid to read it? c, d: its third and fourth
 * argument. */
static int call_takes(long number, u64 c, u64 d)
{
	switch (number) {
	case SYS_mmap:
		return !!(d & MAP_FIXED);
	case SYS_mprotect:
		return !(c & PROT_READ);
	case SYS_pkey_mprotect: /* the key may forbid it: 0 is that of all memory, -1 none */
		return !(c & PROT_READ) || (int)d > 0;
	case SYS_madvise:
		return c == ADVICE_GUARD;
	case SYS_shmat:
		return !!(c & SEGMENT_REPLACES);
	}
	return 1;
}

int memory_goes(long number, u64 a, u64 b, u64 c, u64 d, u64 e)
{
	if (!call_takes(number, c, d))
		return 0;
	__atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
	if (number == SYS_shmat)
		range_take(b, SPACE - b); /* how large a segment is only a call would say */
	else if (number == SYS_shmdt)
		range_take(a, SPACE - a);
	else
		range_take(a, b);
	if (number == SYS_mremap && d & MREMAP_FIXED)
		range_take(e, c);
	return 1;
}

void memory_is_gone(int goes)
{
	if (goes)
		__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
}
