/* Small macros used everywhere: array sizes, minimum/maximum, scope-bound cleanup. */
#ifndef MEMWHY_BASE_UTIL_H
#define MEMWHY_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/types.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b)                     \
	({                            \
		__auto_type a_ = (a); \
		__auto_type b_ = (b); \
		a_ < b_ ? a_ : b_;    \
	})
#define MAX(a, b)                     \
	({                            \
		__auto_type a_ = (a); \
		__auto_type b_ = (b); \
		a_ > b_ ? a_ : b_;    \
	})

#define _printf_(fmt, first) __attribute__((format(printf, fmt, first)))
#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

/* Closes a descriptor unless it is negative. */
static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

/* Slot of a log2 histogram, as the programs count: 0 in slot 0, 2^(i-1) <= v < 2^i in slot i, the
 * rest in slot max. */
static inline u32 log2_slot(u64 v, u32 max)
{
	u32 slot = v ? 64 - (u32)__builtin_clzll(v) : 0;

	return slot < max ? slot : max;
}

/* What a counter rose by. One that fell was set back meanwhile (memory.failcnt can be written to):
 * then it is what was counted since, which is less than all. */
static inline u64 counter_since(u64 first, u64 now)
{
	return now >= first ? now - first : now;
}

/* The same of one that nobody can set back. Where it fell, its parts were added up while they
 * changed, or one of them went: nothing is known to have been counted. */
static inline u64 counter_rise(u64 first, u64 now)
{
	return now > first ? now - first : 0;
}

/* Hands a descriptor or pointer to the caller: the cleanup of the local then does nothing. */
#define take_fd(fd)             \
	({                      \
		int fd_ = (fd); \
		(fd) = -1;      \
		fd_;            \
	})
#define take_ptr(p)                   \
	({                            \
		__auto_type p_ = (p); \
		(p) = NULL;           \
		p_;                   \
	})

#endif
