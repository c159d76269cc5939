/* See clock.h. */
#include "base/clock.h"

/* Between two looks at the clocks there is some time: only more than this is a suspend. */
#define STEP_NS ((s64)NSEC_PER_MSEC)
#define TRIES 10

/* CLOCK_BOOTTIME less CLOCK_MONOTONIC, in whole steps. */
static s64 ahead_read(void)
{
	u64 before, boot, after;
	int tries = 0;

	do {
		before = clock_mono_ns();
		boot = clock_ns(CLOCK_BOOTTIME);
		after = clock_mono_ns();
	} while (after - before > STEP_NS / 10 && ++tries < TRIES);
	return (s64)(boot - before) / STEP_NS * STEP_NS;
}

u64 clock_mono_of_boot(u64 boot_ns)
{
	static s64 known; /* of the machine: one value for all who ask, until it is suspended */
	s64 ahead = ahead_read(), was = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (ahead > was + STEP_NS || ahead < was - STEP_NS)
		__atomic_store_n(&known, ahead, __ATOMIC_RELAXED);
	else
		ahead = was;
	return (s64)boot_ns > ahead ? boot_ns - (u64)ahead : 1;
}
