/*
 * Private to the capture of numa: what existed before. The mappings of a process are sent when it
 * is first seen, and again after an exec; a thread when it is first seen. Owns which were sent.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_KNOWN_H
#define MEMWHY_PROBES_NUMA_CAPTURE_KNOWN_H

#include "capture/capture.h"
#include "probes/numa/numa.h"
#include "probes/numa/capture/numa_data.h"
#include "probes/numa/capture/numa_tls.h"

struct numa_known {
	struct known_id *processes, *threads; /* hash tables */
	struct numa_data data;
	struct numa_tls tls;
};

void numa_known_init(struct numa_known *k);
/* Tells of the process with what /proc says now, as of time_ns, unless that was done. */
int numa_know_process(struct numa_known *k, struct capture *c, u32 tgid, u64 time_ns);
int numa_know_thread(struct numa_known *k, struct capture *c, const struct numa_sample *s, u64 tls);
/* Tells of the variables that the access may be to. tls 0: not known. */
int numa_know_variables(
	struct numa_known *k, struct capture *c, const struct numa_sample *s, u64 tls);
/* A fork: its mappings are those of its parent. */
int numa_know_copy(struct numa_known *k, u32 tgid);
/* It is as if nothing had been heard of it. */
void numa_forget_process(struct numa_known *k, u32 tgid);
void numa_forget_thread(struct numa_known *k, u32 tid);
/* Completes a mapping that was made: by its file, where /proc still has it. */
int numa_mapping_complete(struct numa_known *k, struct capture *c, struct numa_mapping *m);
void numa_known_free(struct numa_known *k);

#endif
