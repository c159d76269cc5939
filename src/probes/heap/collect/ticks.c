/* See ticks.h. */
#include "probes/heap/collect/ticks.h"

#include <stdint.h>
#include <x86intrin.h>

#include "base/clock.h"
#include "tracker/ring.h"

#define TRIES 3
#define BASE_NS (2 * NSEC_PER_SEC)

void ticks_look(struct ticks *t)
{
	u64 best = UINT64_MAX;

	/* The reading that was interrupted least. */
	for (int i = 0; i < TRIES; i++) {
		u64 before = clock_mono_ns(), now = __rdtsc(), after = clock_mono_ns();

		if (after - before >= best)
			continue;
		best = after - before;
		t->ns = before + best / 2;
		t->ticks = now >> TRACK_TIME_SHIFT;
	}
	if (!t->base_ns) {
		t->base_ns = t->next_ns = t->ns;
		t->base_ticks = t->next_ticks = t->ticks;
	} else if (t->ns - t->next_ns > BASE_NS) {
		t->base_ns = t->next_ns;
		t->base_ticks = t->next_ticks;
		t->next_ns = t->ns;
		t->next_ticks = t->ticks;
	}
}

static double rate(const struct ticks *t)
{
	u64 ns = t->ns - t->base_ns;

	return ns && t->ticks > t->base_ticks ? (double)(t->ticks - t->base_ticks) / (double)ns
					      : 0.5;
}

u64 ticks_at(const struct ticks *t, u64 ns)
{
	double off = (double)(s64)(ns - t->ns) * rate(t);

	return t->ticks + (u64)(s64)off;
}

u64 ticks_ns(const struct ticks *t, u64 ticks)
{
	double off = (double)(s64)(ticks - t->ticks) / rate(t);

	return t->ns + (u64)(s64)off;
}
