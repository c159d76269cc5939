/*
 * The calling thread's ring, and how words get into it. Finds out by itself that a thread is new,
 * or that it is in a forked child, without system calls or locks when it is neither.
 */
#ifndef MEMWHY_TRACKER_THREAD_H
#define MEMWHY_TRACKER_THREAD_H

#include "tracker/calls.h"
#include "tracker/ring.h"

/*
 * What this process is. In a page that the kernel empties in a forked child (MADV_WIPEONFORK),
 * however it was forked.
 */
struct self {
	u32 epoch;   /* of this process; 0: nothing is set up; SELF_OFF: there is nothing to do */
	u32 many;    /* there was more than one thread: events bear times; MANY_EXACT: exact ones */
	u32 process; /* index in the file */
	u32 pid;
	u32 lock;    /* of setting up */
	u32 threads; /* that took a slot so far */
};

#define SELF_OFF (~0U)
#define MANY_EXACT 2
#define NO_EPOCH (~0U - 1)

extern OURS struct self *self;
extern OURS struct track_head *track; /* NULL: there is no file */

struct memo;      /* of the last stack, see stack.c */
struct own_stack; /* see own_stack.h */

struct thread {
	u32 epoch;   /* of self when the slot was taken */
	u32 plain;   /* the same where every block is reported, whatever its size; else NO_EPOCH */
	u32 turning; /* from one ring to another: a signal handler finds none */
	u32 grown;   /* the ring, see track_slot */
	u64 *ring;
	u64 mask;
	u64 head;  /* words reserved */
	u64 limit; /* words that may be reserved as far as we know */
	u64 time;  /* high bits of the last time sent */
	u64 stuck; /* of the ring, when it was last waited for in vain without a call; ~0: not so */
	struct track_slot *slot;
	/* The known part of the thread's own stack, which it was begun with: mapped while it lives.
	 * 0: not known yet. See frames.c. */
	u64 stack_low, stack_high;
	struct own_stack *own;
	struct memo *memo; /* NULL: no memory for it */
	u64 until_sample;  /* bytes; 0: all are reported; see sample.h */
	u64 random;
	u32 tid; /* what the slot was told; 0: not known */
};

extern OURS __thread struct thread thread __attribute__((tls_model("initial-exec")));

/* The time stamp counter must not be read any more. */
void thread_clock_gone(void);
/* Releases the file and its address space: this process and its future forks record nothing more.
 * 0: there is none, or other threads may still be writing to it. */
int thread_give_up(void);
/* Takes a slot. NULL: nothing is recorded. */
struct thread *thread_enter(struct thread *t);
/* Sleeps, the longer the more often it did so before. */
void thread_nap(u32 naps);
/* Waits until n words from `at` on are free. 0: it took too long, so many events are lost. */
int thread_wait(struct thread *t, u64 at, u64 n, u32 events);

/* NULL: nothing is to be recorded. */
static inline struct thread *thread_now(void)
{
	struct thread *t = &thread;

	if (likely(t->epoch == self->epoch))
		return t;
	return thread_enter(t);
}

/* Has it a ring, and is every block reported? */
static inline int thread_is_plain(const struct thread *t)
{
	return t->plain == self->epoch;
}

/* n words are this one's. A handler of a signal that comes right now gets other words. */
static inline u64 thread_claim(struct thread *t, u64 n)
{
	__asm__ volatile("xadd %0, %1" : "+r"(n), "+m"(t->head) : : "memory", "cc");
	return n;
}

#define AHEAD 48 /* words: some hundred ns */

/* The place of events to come, from the memory that the reader has left it in, so that these do not
 * wait for each other there. */
static inline void thread_fetch(struct thread *t, u64 at)
{
	__asm__ volatile("prefetchw %0" : : "m"(t->ring[(at + AHEAD) & t->mask]));
}

/* Room for the n words of an event, from *ret_at on. */
static inline int thread_reserve(struct thread *t, u64 n, u64 *ret_at)
{
	*ret_at = thread_claim(t, n);
	return likely(*ret_at + n <= t->limit) || thread_wait(t, *ret_at, n, 1);
}

/* The same, of words that are no event: what events refer to. */
static inline int thread_reserve_aside(struct thread *t, u64 n, u64 *ret_at)
{
	*ret_at = thread_claim(t, n);
	return likely(*ret_at + n <= t->limit) || thread_wait(t, *ret_at, n, 0);
}

static inline void thread_put(struct thread *t, u64 at, u64 word)
{
	__atomic_store_n(&t->ring[at & t->mask], word, __ATOMIC_RELEASE);
}

void thread_put_time(struct thread *t, u64 time);

/*
 * The time in the first word of an event. It is never late: what the event publishes is written
 * after the counter was read. But it may be early, by at most TRACK_EARLY: the counter may be read
 * before an earlier load, which brought a pointer from another thread, completes (Intel SDM, volume
 * 2, RDTSC). The reader corrects that, because allocations and frees of an address alternate. A
 * fence would wait for all outstanding memory accesses of the program, which is often most of the
 * cost of an event; so there is one only if times are compared with those of other sources.
 */
static inline u64 thread_time(void)
{
	u32 many = self->many;

	if (!many)
		return 0;
	if (unlikely(many == MANY_EXACT))
		__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc() >> TRACK_TIME_SHIFT;
}

/* Was what is above the low bits told? */
static inline int thread_time_is_told(const struct thread *t, u64 time)
{
	return time >> TRACK_TIME_LOW == t->time;
}

/* As it is in the first word of an event. */
static inline u64 time_stamp(u64 time)
{
	return time << (64 - TRACK_TIME_LOW);
}

static inline u64 thread_stamp(struct thread *t)
{
	u64 now = thread_time();

	if (unlikely(!thread_time_is_told(t, now)))
		thread_put_time(t, now);
	return time_stamp(now);
}

#endif
