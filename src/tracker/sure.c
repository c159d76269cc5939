/* See sure.h. */
#include "tracker/sure.h"

#include "tracker/forbid.h"

static int needed;
static u32 unanswered; /* what the heartbeat was when an answer did not come; 0: it never was so */

#define ANSWER_PAUSES (1U << 19) /* some ten milliseconds: the reader sleeps less than that */

void sure_needed(void)
{
	needed = 1;
}

u32 sure_ask(struct thread *t)
{
	u32 asked = __atomic_load_n(&t->slot->asked, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&t->slot->asked, asked, __ATOMIC_RELEASE);
	__atomic_add_fetch(&track->asks, 1, __ATOMIC_RELEASE);
	return asked;
}

int calls_are_forbidden(void)
{
	if (calls_forbidden)
		return 1;
	if (!track || !self->epoch || self->epoch == SELF_OFF ||
		!__atomic_load_n(&track->processes[self->process].filtered, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_store_n(&calls_forbidden, 1, __ATOMIC_RELEASE);
	return 1;
}

/* A handler of a signal that asked meanwhile has run code of the program. What was seen before this
 * thread was without a processor for a while is old: others may have given it a filter since. */
enum sure sure_look(const struct thread *t, u32 asked)
{
	if (calls_are_forbidden() ||
		__atomic_load_n(&t->slot->asked, __ATOMIC_RELAXED) != asked)
		return SURE_NO;
	if (__atomic_load_n(&t->slot->sure, __ATOMIC_ACQUIRE) != asked)
		return SURE_NOT_YET;
	if (self->many && !clock_forbidden && threads_are_few() &&
		__builtin_ia32_rdtsc() - t->slot->sure_at > track->sure_ticks)
		return SURE_NO;
	return SURE_YES;
}

int calls_are_sure(struct thread *t)
{
	u32 beat, asked;
	enum sure sure;

	if (!needed || calls_forbidden)
		return !calls_forbidden;
	beat = __atomic_load_n(&track->heartbeat, __ATOMIC_RELAXED) | 1;
	if (beat == unanswered)
		return 0;
	asked = sure_ask(t);
	for (u32 i = 0; i < ANSWER_PAUSES; i++) {
		sure = sure_look(t, asked);
		if (sure == SURE_YES || (sure == SURE_NO && calls_forbidden))
			return sure == SURE_YES;
		if (sure == SURE_NO)
			asked = sure_ask(t);
		__builtin_ia32_pause();
	}
	unanswered = beat;
	return 0;
}

/*
 * In its control block of a thread, which fs points at: glibc has its id behind room for the loader
 * and a list (nptl/descr.h), musl behind the canary (src/internal/pthread_impl.h).
 */
#define GLIBC_ID 0x2d0
#define MUSL_ID 0x30

extern void *__libc_stack_end __attribute__((weak)); /* of glibc's loader */

static u32 id_at;

int libc_is_glibc(void)
{
	return &__libc_stack_end != NULL;
}

const void *libc_self(void)
{
	const void *self_at;

	__asm__("movq %%fs:0, %0" : "=r"(self_at));
	return self_at;
}

static u32 id_read(u32 at)
{
	u32 id;

	__asm__ volatile("movl %%fs:(%1), %0" : "=r"(id) : "r"((u64)at));
	return id;
}

u32 libc_thread_id(void)
{
	return id_at ? id_read(id_at) : 0;
}

void libc_thread_id_find(void)
{
	u32 at = libc_is_glibc() ? GLIBC_ID : MUSL_ID;

	if (id_read(at) == (u32)call(SYS_gettid))
		id_at = at;
}
