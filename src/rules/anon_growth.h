/*
 * How much anonymous memory of a process grew while it was watched, in swap or not: what comes back
 * from swap is no growth.
 */
#ifndef MEMWHY_RULES_ANON_GROWTH_H
#define MEMWHY_RULES_ANON_GROWTH_H

#include "base/util.h"
#include "probes/processes/processes.h"

struct anon_growth {
	u64 start_ns; /* of the process: its number may be given again */
	u64 first_bytes, bytes;
	u64 first_swap_bytes, swap_bytes; /* as they were first and last known */
	bool swap_known;
};

static inline void anon_growth_feed(struct anon_growth *g, const struct process_memory *m)
{
	if (g->start_ns != m->start_ns)
		*g = (struct anon_growth){.start_ns = m->start_ns};
	g->first_bytes = m->first_anon_bytes;
	g->bytes = m->anon_bytes;
	if (!(m->h.flags & PROCESS_EXACT))
		return;
	g->swap_bytes = m->swap_bytes;
	if (!g->swap_known)
		g->first_swap_bytes = m->swap_bytes;
	g->swap_known = true;
}

static inline u64 anon_growth_bytes(const struct anon_growth *g)
{
	return counter_rise(g->first_bytes + g->first_swap_bytes, g->bytes + g->swap_bytes);
}

#endif
