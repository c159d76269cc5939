/*
 * The library that `memwhy heap -- CMD` preloads: what the program calls instead of the allocator.
 * Each function calls the one it stands before, then puts an event into the thread's ring. A free
 * goes into the ring before it happens, so that whoever is given the address next comes after it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "tracker/real.h"
#include "tracker/sample.h"
#include "tracker/stack.h"

#define EXPORT __attribute__((visibility("default")))
#define FRAME ((const u64 *)__builtin_frame_address(0))

/* What has no room in the event that follows. */
static __attribute__((noinline)) void extra_put(struct thread *t, enum track_extra what, u64 value)
{
	u64 at;

	if (thread_reserve(t, 1, &at))
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

	if (!((u64)p & 4095) || header_right < 0)
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

static inline u64 usable_of(void *p)
{
	u64 word;

	if (unlikely(header_right < HEADER_SURE || !((u64)p & 4095)))
		return usable_ask(p);
	word = ((const u64 *)p)[-1];
	return likely(!(word & HEADER_MAPPED)) ? (word & ~(u64)HEADER_FLAGS) - 8 : usable_ask(p);
}

/* How much more than was asked for may be used. */
static inline u64 slack_of(void *p, size_t size)
{
	return real.usable_size ? (usable_of(p) >> 3) - (size >> 3) : 0;
}

static inline void alloc_put(const u64 *frame, enum track_kind kind, void *p, size_t size)
{
	struct thread *t = thread_now();
	u64 stack, slack, shown = size, stamp, at;

	if (unlikely(!t) || !sample_alloc(t, size))
		return;
	if (unlikely(sample_mean) && !sample_add(p)) {
		t->slot->dropped++;
		return;
	}
	stack = stack_number(t, frame);
	if (unlikely(size >= TRACK_SIZE_BIG)) {
		extra_put(t, TRACK_SIZE, size);
		shown = TRACK_SIZE_BIG;
	}
	slack = slack_of(p, size);
	if (unlikely(slack >= TRACK_SLACK_BIG)) {
		extra_put(t, TRACK_SLACK, slack);
		slack = TRACK_SLACK_BIG;
	}
	stamp = thread_stamp(t);
	if (unlikely(!thread_reserve(t, 2, &at)))
		return;
	thread_put(t, at + 1,
		stack << TRACK_STACK_SHIFT | slack << TRACK_SLACK_SHIFT |
			shown << TRACK_SIZE_SHIFT);
	thread_put(t, at, stamp | ((u64)p & TRACK_ADDRESS_MASK) | kind);
}

/* Where nobody has asked yet whether it is too small to be told of. */
static inline void alloc_ask(const u64 *frame, enum track_kind kind, void *p, size_t size)
{
	if (likely(size >= least_bytes))
		alloc_put(frame, kind, p, size);
}

/* Nobody was told that it was allocated: less was asked for than may be used. */
static inline int is_small(void *p)
{
	return least_bytes && real.usable_size && usable_of(p) < least_bytes;
}

/* 0: it is not told of. */
static inline int free_put(enum track_kind kind, void *p)
{
	struct thread *t = is_small(p) ? NULL : thread_now();
	u64 stamp, at;

	/* The allocator is about to read the word before it, from far away as often as not. */
	__builtin_prefetch((const char *)p - sizeof(u64));
	if (unlikely(!t) || !sample_free(p))
		return 0;
	stamp = thread_stamp(t);
	if (unlikely(!thread_reserve(t, 1, &at)))
		return 0;
	thread_put(t, at, stamp | ((u64)p & TRACK_ADDRESS_MASK) | kind);
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
}

static __attribute__((noinline)) void *malloc_told(size_t size)
{
	void *p;

	if (size < least_bytes)
		return real.malloc(size);
	p = real.malloc(size);
	if (likely(p))
		alloc_put(FRAME, TRACK_ALLOC, p, size);
	return p;
}

EXPORT void *malloc(size_t size)
{
	return sample_alloc_passes(size) ? real.malloc(size) : malloc_told(size);
}

static __attribute__((noinline)) void free_told(void *p)
{
	if (p)
		free_put(TRACK_FREE, p);
	real.free(p);
}

EXPORT void free(void *p)
{
	if (sample_free_passes(p))
		real.free(p);
	else
		free_told(p);
}

static __attribute__((noinline)) void *calloc_told(size_t n, size_t size)
{
	void *p;

	if (n * size < least_bytes)
		return real.calloc(n, size);
	p = real.calloc(n, size);
	if (likely(p))
		alloc_put(FRAME, TRACK_ALLOC, p, n * size);
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	return sample_alloc_passes(n * size) ? real.calloc(n, size) : calloc_told(n, size);
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

static __attribute__((noinline)) void *realloc_told(void *old, size_t size)
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
