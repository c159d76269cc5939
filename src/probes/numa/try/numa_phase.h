/*
 * A while of `numa try`: accesses to an object, counted in windows of time, so that the noise of
 * their remote share is known. It runs in a process of its own, since a session gives its
 * privileges up.
 */
#ifndef MEMWHY_PROBES_NUMA_TRY_PHASE_H
#define MEMWHY_PROBES_NUMA_TRY_PHASE_H

#include "probes/numa/try/numa_object.h"
#include "probes/probe.h"

#define PHASE_WINDOWS 8

struct numa_phase {
	u64 samples[PHASE_WINDOWS], remote[PHASE_WINDOWS]; /* of known nodes, by window */
	u64 latency_total, latency_n;
	u64 moved_pages; /* of the object, by the kernel itself, meanwhile */
};

/* The task's scope is the process. */
int numa_phase_run(const struct action_task *t, u64 for_ns, const struct numa_object_pages *o,
	struct numa_phase *ret, struct err *err);
u64 numa_phase_samples(const struct numa_phase *p);
/* The remote share, and its variance by the windows (ratio estimator of cluster sampling: samples
 * of one window are not independent). False: too few. */
bool numa_phase_share(const struct numa_phase *p, double *ret_share, double *ret_variance);

#define PHASE_SAMPLES_MIN 50
#define PHASE_WINDOWS_MIN 4
/* Student's t at 97.5 % with four windows less one in each phase at least; a little more is safe.
 */
#define PHASE_T 2.45

enum numa_outcome { NUMA_TOO_FEW, NUMA_FELL, NUMA_ROSE, NUMA_SAME };

enum numa_outcome numa_phase_compare(
	const struct numa_phase *before, const struct numa_phase *after);

#endif
