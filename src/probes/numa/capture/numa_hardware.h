/*
 * Private to the capture of numa: accesses as the processor samples them: Intel PEBS (loads above a
 * latency, stores) and AMD IBS (operations). Owns which events there are here, and their rings.
 * What a sample means is decoded as that of a perf.data file is (numa_perf.h).
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_HARDWARE_H
#define MEMWHY_PROBES_NUMA_CAPTURE_HARDWARE_H

#include <linux/perf_event.h>

#include "base/util.h"
#include "probes/numa/numa.h"

#define NUMA_WHY_LEN 96

/* An event to open on the CPUs of its PMU. */
struct numa_event_spec {
	struct perf_event_attr attr;
	char cpus[32]; /* a file with a list of CPUs; "": all that are online */
	u8 source;     /* enum numa_source */
	bool leads;    /* the next one is opened in its group (mem-loads-aux) */
};

#define NUMA_SPECS 4

/* What this machine has, best first. 0: nothing, and why not. */
size_t numa_hardware_specs(struct numa_event_spec specs[NUMA_SPECS], char why[NUMA_WHY_LEN]);
/*
 * The words of an event, "event=0xcd,umask=0x1,ldlat=3", as bits of the attributes, by the files in
 * the PMU's format/. -EINVAL: a word that this PMU does not have.
 */
int numa_hardware_terms(const char *pmu, const char *words, struct perf_event_attr *ret);

struct numa_hardware;

/* -errno of perf_event_open, and why[]. */
int numa_hardware_open(const struct numa_event_spec *specs, size_t n, struct numa_hardware **ret,
	char why[NUMA_WHY_LEN]);
/* Gives each sample to take; its nodes are not known but for what the level says, its physical
 * address is in phys (0: none). Returns what take returned, if not 0. */
int numa_hardware_read(struct numa_hardware *h,
	int (*take)(void *arg, struct numa_sample *s, u64 phys), void *arg);
void numa_hardware_start(struct numa_hardware *h);
void numa_hardware_stop(struct numa_hardware *h);
/* Samples for which there was no room. */
u64 numa_hardware_lost(const struct numa_hardware *h);
void numa_hardware_close(struct numa_hardware *h);

#endif
