/*
 * The library that `memwhy heap -- CMD` preloads: what the program calls instead of the allocator.
 * Each function calls the one it stands before, then puts an event into the thread's ring. A free
 * goes into the ring before it happens, so that whoever is given the address next comes after it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "tracker/forbid.h"
#include "tracker/foreign_blocks.h"
#include "tracker/modules.h"
#include "tracker/real.h"
#include "tracker/sample.h"
#include "tracker/stack.h"

#define EXPORT __attribute__((visibility("default")))
#define FRAME ((const u64 *)__builtin_frame_address(0))

/* What has no room in the event that follows. */
static __attribute__((noinline)) void extra_put(struct thread *t, enum track_extra what, u64 value)
{
	u64 at;

	if (thread_reserve_aside(t, 1, &at))
		thread_put(t, at,
			value << TRACK_VALUE_SHIFT | (u64)what << TRACK_ARG_SHIFT | TRACK_EXTRA);
}

/*
 * glibc has the size of a block, with 8 bytes more and three flags, in the word before it. Its
 * malloc_usable_size() looks at the next block too, whose line of memory is mostly in no cache: a
 * third of all that we would cost. So the word is asked instead, once it was right often enough
 * that there is no doubt. It is in the page of the block, so it can be read.
 */
#define HEADER_SURE 64
#define HEADER_FLAGS 7
#define HEADER_MAPPED 2  /* by mmap: the rule is another one */
static int header_right; /* how often so far; below 0: it was wrong */

static __attribute__((noinline)) u64 usable_ask(void *p)
{
	u64 usable = real.usable_size ? real.usable_size(p) : 0, word;

	/* Of a block of no bytes nothing has to be readable. */
	if (!usable || !((u64)p & 4095) || header_right < 0)
		return usable;
	word = ((const u64 *)p)[-1];
	if (word & HEADER_MAPPED)
		return usable;
	if ((word & ~(u64)HEADER_FLAGS) - 8 != usable)
		header_right = -1;
	else if (header_right < HEADER_SURE)
		header_right++;
	return usable;
}

static inline int header_is_sure(void *p)
{
	return header_right >= HEADER_SURE && (u64)p & 4095 &&
	       !(((const u64 *)p)[-1] & HEADER_MAPPED);
}

static inline u64 header_usable(void *p)
{
	return (((const u64 *)p)[-1] & ~(u64)HEADER_FLAGS) - 8;
}

static inline u64 usable_of(void *p)
{
	return likely(header_is_sure(p)) ? header_usable(p) : usable_ask(p);
}

/* How much more than was asked for may be used. */
static inline u64 slack_of(void *p, size_t size)
{
	u64 usable = real.usable_size ? usable_of(p) : 0;

	/* Of its first block tcmalloc knows nothing yet. */
	return usable > size ? (usable >> 3) - (size >> 3) : 0;
}

static inline u64 alloc_word(u64 stack, u64 slack, u64 size)
{
	return stack << TRACK_STACK_SHIFT | slack << TRACK_SLACK_SHIFT | size << TRACK_SIZE_SHIFT;
}

static inline u64 event_word(u64 stamp, const void *p, enum track_kind kind)
{
	return stamp | ((u64)p & TRACK_ADDRESS_MASK) | kind;
}

/* A block, of which the stack is known. */
static void block_put(
	struct thread *t, u64 stack, enum track_kind kind, void *p, size_t size, u64 slack)
{
	u64 shown = size, stamp, at;

	if (unlikely(size >= TRACK_SIZE_BIG)) {
		extra_put(t, TRACK_SIZE, size);
		shown = TRACK_SIZE_BIG;
	}
	if (unlikely(slack >= TRACK_SLACK_BIG)) {
		extra_put(t, TRACK_SLACK, slack);
		slack = TRACK_SLACK_BIG;
	}
	stamp = thread_stamp(t);
	if (unlikely(!thread_reserve(t, 2, &at)))
		return;
	thread_put(t, at + 1, alloc_word(stack, slack, shown));
	thread_put(t, at, event_word(stamp, p, kind));
}

static void alloc_put(const u64 *frame, enum track_kind kind, void *p, size_t size, int has_slack)
{
	struct thread *t = thread_now();
	u64 stack;

	if (unlikely(!t) || !sample_alloc(t, size))
		return;
	if (unlikely(sample_mean) && !sample_add(p)) {
		t->slot->dropped++;
		return;
	}
	stack = stack_number(t, frame);
	block_put(t, stack, kind, p, size, has_slack ? slack_of(p, size) : 0);
}

/* Where nobody has asked yet whether it is too small to be told of. */
static inline void alloc_ask(const u64 *frame, enum track_kind kind, void *p, size_t size)
{
	if (likely(size >= least_bytes))
		alloc_put(frame, kind, p, size, 1);
}

/* Nobody was told that it was allocated: less was asked for than may be used. */
static inline int track_is_small(void *p)
{
	return least_bytes && real.usable_size && usable_of(p) < least_bytes;
}

/* 0: it is not told of. */
static int free_put(enum track_kind kind, void *p)
{
	struct thread *t = track_is_small(p) ? NULL : thread_now();
	u64 stamp, at;

	if (unlikely(!t) || !sample_free(p))
		return 0;
	stamp = thread_stamp(t);
	if (unlikely(!thread_reserve(t, 1, &at)))
		return 0;
	thread_put(t, at, event_word(stamp, p, kind));
	return 1;
}

static void restore_put(void *p)
{
	struct thread *t = thread_now();
	u64 at;

	if (sample_mean)
		sample_add(p);
	if (t && thread_reserve(t, 1, &at))
		thread_put(t, at,
			(u64)p << TRACK_VALUE_SHIFT | TRACK_RESTORE << TRACK_ARG_SHIFT |
				TRACK_EXTRA);
}

/* Not only at the first allocation: that may be in the child of a vfork(), whose pid soon means
 * nothing. */
__attribute__((constructor)) static void begin(void)
{
	thread_now();
	if (filter_row) /* there may be no later time to ask */
		loaded_prepare();
}

/*
 * What a function of the allocator comes to, in three steps: most is not told of, where blocks are
 * sampled; most of the rest is told of as it is; and what is rare. Each is left to the next in its
 * own place, so that none has to keep anything for it.
 */
#define STEP __attribute__((noinline))

/* p: what it returns. */
static STEP void *alloc_rare(u64 stack, void *p, size_t size)
{
	block_put(&thread, stack, TRACK_ALLOC, p, size, slack_of(p, size));
	return p;
}

static STEP void *alloc_wait(u64 at, void *p, u64 first, u64 second)
{
	struct thread *t = &thread;

	if (thread_wait(t, at, 2, 1)) {
		thread_put(t, at + 1, second);
		thread_put(t, at, first);
	}
	return p;
}

/* Of a thread that tells of all. Inline: a call in the place of the function would end its frame.
 */
static inline __attribute__((always_inline)) void *alloc_told(
	const u64 *frame, void *p, size_t size)
{
	struct thread *t = &thread;
	u64 stack, slack, time, at, first, second;

	if (unlikely(!p))
		return p;
	stack = stack_number(t, frame);
	if (unlikely(!header_is_sure(p)))
		return alloc_rare(stack, p, size);
	slack = (header_usable(p) >> 3) - (size >> 3);
	time = thread_time();
	if (unlikely(slack >= TRACK_SLACK_BIG || size >= TRACK_SIZE_BIG ||
		     !thread_time_is_told(t, time)))
		return alloc_rare(stack, p, size);
	first = event_word(time_stamp(time), p, TRACK_ALLOC);
	second = alloc_word(stack, slack, size);
	at = thread_claim(t, 2);
	if (unlikely(at + 2 > t->limit))
		return alloc_wait(at, p, first, second);
	thread_put(t, at + 1, second);
	thread_put(t, at, first);
	thread_fetch(t, at);
	return p;
}

static STEP void *malloc_rare(size_t size)
{
	void *p;

	if (size < least_bytes)
		return real.malloc(size);
	p = real.malloc(size);
	if (p)
		alloc_put(FRAME, TRACK_ALLOC, p, size, 1);
	return p;
}

static STEP void *malloc_told(size_t size)
{
	if (unlikely(!thread_is_plain(&thread)))
		return malloc_rare(size);
	return alloc_told(FRAME, real.malloc(size), size);
}

EXPORT void *malloc(size_t size)
{
	return sample_alloc_passes(size) ? real.malloc(size) : malloc_told(size);
}

static STEP void *calloc_rare(size_t n, size_t size)
{
	void *p;

	if (n * size < least_bytes)
		return real.calloc(n, size);
	p = real.calloc(n, size);
	if (p)
		alloc_put(FRAME, TRACK_ALLOC, p, n * size, 1);
	return p;
}

static STEP void *calloc_told(size_t n, size_t size)
{
	if (unlikely(!thread_is_plain(&thread)))
		return calloc_rare(n, size);
	return alloc_told(FRAME, real.calloc(n, size), n * size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return sample_alloc_passes(n * size) ? real.calloc(n, size) : calloc_told(n, size);
}

static STEP void free_rare(void *p)
{
	if (p)
		free_put(TRACK_FREE, p);
	real.free(p);
}

static STEP void free_wait(void *p, u64 at, u64 word)
{
	struct thread *t = &thread;

	if (thread_wait(t, at, 1, 1))
		thread_put(t, at, word);
	real.free(p);
}

static STEP void free_told(void *p)
{
	struct thread *t = &thread;
	u64 time, word, at;

	if (unlikely(!p || !thread_is_plain(t))) {
		free_rare(p);
		return;
	}
	/* The allocator is about to read the word before it, from far away as often as not. */
	__builtin_prefetch((const char *)p - sizeof(u64));
	time = thread_time();
	if (unlikely(!thread_time_is_told(t, time))) {
		free_rare(p);
		return;
	}
	word = event_word(time_stamp(time), p, TRACK_FREE);
	at = thread_claim(t, 1);
	if (unlikely(at + 1 > t->limit)) {
		free_wait(p, at, word);
		return;
	}
	thread_put(t, at, word);
	real.free(p);
}

EXPORT void free(void *p)
{
	if (sample_free_passes(p))
		real.free(p);
	else
		free_told(p);
}

/* The block may be somebody else's before the allocator returns, so it is freed beforehand. What
 * realloc does with size 0 is up to the allocator: glibc frees the block and returns NULL. */
static inline void *block_resize(const u64 *frame, void *old, size_t size)
{
	/* Of a small one nothing follows. */
	int told = old && free_put(size < least_bytes ? TRACK_FREE : TRACK_MOVE, old);
	void *p;

	p = real.realloc(old, size);
	if (likely(p))
		alloc_ask(frame, TRACK_MOVED, p, size);
	else if (told && size)
		restore_put(old);
	return p;
}

static STEP void *realloc_told(void *old, size_t size)
{
	return block_resize(FRAME, old, size);
}

EXPORT void *realloc(void *old, size_t size)
{
	return sample_free_passes(old) && sample_alloc_passes(size) ? real.realloc(old, size)
								    : realloc_told(old, size);
}

extern int *__errno_location(void) __attribute__((weak));

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		if (__errno_location)
			*__errno_location() = ENOMEM;
		return NULL;
	}
	return block_resize(FRAME, old, bytes);
}

EXPORT int posix_memalign(void **ret, size_t align, size_t size)
{
	int rc;

	if (!real.posix_memalign)
		real_find();
	if (!real.posix_memalign)
		return ENOMEM;
	rc = real.posix_memalign(ret, align, size);
	if (!rc && *ret)
		alloc_ask(FRAME, TRACK_ALLOC, *ret, size);
	return rc;
}

#define ALIGNED(name)                                           \
	EXPORT void *name(size_t align, size_t size)            \
	{                                                       \
		void *p;                                        \
                                                                \
		if (!real.name)                                 \
			real_find();                            \
		p = real.name ? real.name(align, size) : NULL;  \
		if (p)                                          \
			alloc_ask(FRAME, TRACK_ALLOC, p, size); \
		return p;                                       \
	}
ALIGNED(memalign)
ALIGNED(aligned_alloc)

#define PAGED(name)                                             \
	EXPORT void *name(size_t size)                          \
	{                                                       \
		void *p;                                        \
                                                                \
		if (!real.name)                                 \
			real_find();                            \
		p = real.name ? real.name(size) : NULL;         \
		if (p)                                          \
			alloc_ask(FRAME, TRACK_ALLOC, p, size); \
		return p;                                       \
	}
PAGED(valloc)
PAGED(pvalloc)

/* Its slack is not asked for: the first malloc_usable_size() of tcmalloc comes here. */
void block_told(const u64 *frame, void *p, size_t size)
{
	if (size >= least_bytes)
		alloc_put(frame, TRACK_ALLOC, p, size, 0);
}

void block_freed(void *p)
{
	free_put(TRACK_FREE, p);
}

/* Code goes, other code may come in its place, in another thread before this one is back; and this
 * one runs its last functions meanwhile. */
EXPORT int dlclose(void *handle)
{
	int rc;

	if (!real.dlclose)
		real_find();
	stack_forget();
	rc = real.dlclose ? real.dlclose(handle) : -1;
	stack_forget();
	return rc;
}
