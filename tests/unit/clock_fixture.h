/*
 * A machine that was suspended as long as the test says: CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC
 * by that, whatever was so where the test runs. And one on which more time has passed than the test
 * took. Take it in one file of a program.
 */
#ifndef MEMWHY_TESTS_CLOCK_FIXTURE_H
#define MEMWHY_TESTS_CLOCK_FIXTURE_H

#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

static u64 fixture_suspended_ns, fixture_passed_ns;

/* In place of libc's, for all of the program. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	long rc = syscall(SYS_clock_gettime, id == CLOCK_BOOTTIME ? CLOCK_MONOTONIC : id, ret);

	if (!rc && id == CLOCK_BOOTTIME)
		ret->tv_sec += (time_t)(fixture_suspended_ns / NSEC_PER_SEC);
	if (!rc && (id == CLOCK_BOOTTIME || id == CLOCK_MONOTONIC))
		ret->tv_sec += (time_t)(fixture_passed_ns / NSEC_PER_SEC);
	return (int)rc;
}

#endif
