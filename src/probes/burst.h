/* The bursts of a probe at work: see struct probe_bursts. */
#ifndef MEMWHY_PROBES_BURST_H
#define MEMWHY_PROBES_BURST_H

#include "probes/probe.h"

struct burst {
	const struct probe_bursts *spec; /* NULL: the probe counts all the time */
	struct capture *c;
	struct attached *a;
	u64 next_ns, asked_ns;
	u64 covered_ns, began_ns; /* of the present one */
	u32 n;                    /* so far */
	bool on;
};

/* Is this probe, the present one of the capture, to be looked at in bursts? */
bool burst_wanted(const struct probe *p, const struct capture *c);
/* Detaches what was attached. a must outlive it. */
void burst_open(
	struct burst *b, const struct probe_bursts *spec, struct capture *c, struct attached *a);
/* When it wants to be called next; UINT64_MAX: never. */
u64 burst_next(const struct burst *b);
/* Begins or ends a burst if that is due. */
int burst_step(struct burst *b, u64 now_ns);
/* Ends the present one, and all. */
int burst_stop(struct burst *b);

#endif
