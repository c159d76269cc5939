/*
 * System calls and memory functions without libc, which the library must not need: it is asked for
 * memory before libc is ready, in signal handlers, and on other libcs.
 */
#ifndef MEMWHY_TRACKER_CALLS_H
#define MEMWHY_TRACKER_CALLS_H

#include <stddef.h>
#include <sys/syscall.h>

#include "base/types.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* -fvisibility=hidden is not for what is only declared: else each use would first look up where. */
#define OURS __attribute__((visibility("hidden")))

static inline long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* One that is allowed for sure; others by may_call(), see forbid.h. */
#define call(n, ...) call_(n, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define call_(n, a, b, c, d, e, f, ...) \
	call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline int text_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* The compiler may call these by itself. */
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);

#endif
