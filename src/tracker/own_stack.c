/* See own_stack.h. */
#include "tracker/own_stack.h"

#include <linux/membarrier.h>
#include <sys/mman.h>

#include "tracker/forbid.h"
#include "tracker/real.h"
#include "tracker/sure.h"

u32 stacks_forgotten;

static struct own_stack stacks[TRACK_SLOTS];
static u32 begun, ended; /* of what takes memory */

#define TRIES 30000   /* a walk that a signal handler left for good is waited for no longer */
#define TRY_PAUSES 2000
#define DRAINED 20000 /* pauses; what a processor has yet to write is written long before */

void own_stack_begin(struct thread *t, u32 slot, struct own_walk *walk)
{
	struct own_stack *s = &stacks[slot];

	t->own = s;
	s->walk = walk;
	s->left = 0; /* an even number, of no walk */
	if (walk)
		__atomic_store_n(&walk->walks, 0, __ATOMIC_RELEASE);
	own_stack_forget(t);
	s->floor = 0;
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

/* In its control block, which fs points at, glibc has where it mapped the stack of a thread: four
 * words, the place, its size with the control block, the guard, and that as it was asked for
 * (nptl/descr.h). Where they are depends on its version. */
#define WORDS_FROM (0x300 / 8)
#define WORDS_TO (0x800 / 8)
#define ABOVE (64ULL << 10) /* the control block, the alignment of a stack */

static int is_stack(const u64 *w, u64 sp, u64 self_at)
{
	u64 end = w[0] + w[1];

	return w[0] && !(w[0] & 15) && !((w[0] + w[2]) & (TRACK_PAGE - 1)) && w[2] < w[1] &&
	       w[3] <= w[2] && w[0] + w[2] <= sp && sp < self_at && end > self_at &&
	       end - self_at < ABOVE;
}

/* The lowest page of the stack that libc gave to the thread that runs; 0: not known. */
static u64 libc_stack(u64 sp, u64 self_at)
{
	static u32 found; /* more than the place of the words; 0: not yet */
	const u64 *words = (const u64 *)self_at;

	if (!libc_is_glibc() || sp >= self_at)
		return 0;
	for (u32 i = found ? found - 1 : WORDS_FROM; i < (found ? found : WORDS_TO - 3); i++)
		if (is_stack(words + i, sp, self_at)) {
			found = i + 1;
			return words[i] + words[i + 2];
		}
	return 0;
}

/*
 * Below the first stack the kernel maps nothing within 1 MiB (stack_guard_gap), so what is mapped
 * so near to it is of it. What the program maps there at a place of its own choice raises the floor
 * (range_take).
 */
#define GAP (1ULL << 20)

static int is_below_first(const struct thread *t, u64 page, u64 first)
{
	u64 low = t->stack_high == first ? t->stack_low : first & ~(TRACK_PAGE - 1);

	return page < low && low - page < GAP;
}

int own_stack_reach(struct thread *t, u64 sp, u32 changes)
{
	u64 page = (sp - 8) & ~(TRACK_PAGE - 1), first = real_stack(), self_at = (u64)libc_self();
	u64 floor = t->own->floor, low;

	if (page < floor)
		return 0;
	if (is_below_first(t, page, first)) {
		own_stack_learn(t, page, first, changes);
	} else if ((low = libc_stack(sp, self_at)) && page >= low) {
		own_stack_learn(t, page, (u64)t, changes);
	}
	return sp - 8 >= t->stack_low && sp <= t->stack_high;
}

/* Each thread of the process has seen what was written before, and what it wrote is seen. */
static void all_see(void)
{
	struct thread *t = thread_now();

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (t && calls_are_sure(t) &&
		!call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
		!call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return;
	for (u32 i = 0; i < DRAINED; i++)
		__builtin_ia32_pause();
}

/* For the end of the walk that is under way: its thread may be without a processor for long. No
 * call is made, as a filter may come at any time. */
static void walk_wait(struct own_stack *s)
{
	const struct own_walk *w = s->walk;
	u32 walks = __atomic_load_n(&w->walks, __ATOMIC_ACQUIRE);

	if (!(walks & 1) || walks == s->left)
		return;
	for (u32 i = 0; i < TRIES; i++) {
		for (u32 k = 0; k < TRY_PAUSES; k++)
			__builtin_ia32_pause();
		if (__atomic_load_n(&w->walks, __ATOMIC_ACQUIRE) != walks)
			return;
	}
	s->left = walks;
}

/* What is below the frame that runs no walk of this thread comes by. */
static void stack_take(struct own_stack *s, u64 end)
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

static void floor_raise(struct own_stack *s, u64 to)
{
	u64 floor = __atomic_load_n(&s->floor, __ATOMIC_RELAXED);

	while (floor < to && !__atomic_compare_exchange_n(&s->floor, &floor, to, 0,
				     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
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

		if (__atomic_load_n(&s->high, __ATOMIC_RELAXED) <= from ||
			__atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE) != epoch)
			continue;
		floor_raise(s, end);
		if (unlikely(__atomic_load_n(&s->low, __ATOMIC_RELAXED) < end))
			stack_take(s, end);
	}
}

int memory_goes(long number, u64 a, u64 b, u64 c, u64 d, u64 e)
{
	if ((number == SYS_mmap && !(d & MAP_FIXED)) || (number == SYS_mprotect && c & PROT_READ))
		return 0;
	__atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
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
