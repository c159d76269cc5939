/* Time: all intervals are CLOCK_MONOTONIC nanoseconds, as bpf_ktime_get_ns() gives them. */
#ifndef MEMWHY_BASE_CLOCK_H
#define MEMWHY_BASE_CLOCK_H

#include <time.h>

#include "base/types.h"

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL

static inline u64 timespec_ns(const struct timespec *ts)
{
	return (u64)ts->tv_sec * NSEC_PER_SEC + (u64)ts->tv_nsec;
}

static inline u64 clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return timespec_ns(&ts);
}

static inline u64 clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * What CLOCK_BOOTTIME says on CLOCK_MONOTONIC, which does not count while the machine is suspended:
 * what was before a suspend comes out that much earlier, at least 1. The same time gives the same
 * value again until the machine is suspended.
 */
u64 clock_mono_of_boot(u64 boot_ns);

/* Nanoseconds since 1970. */
static inline u64 clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

#endif
