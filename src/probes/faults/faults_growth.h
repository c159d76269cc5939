/*
 * Private to faults: how the memory of the processes that fault most goes on, for who judges
 * growth. Only those with enough faults are read, in /proc, when the faults are drained; so where
 * nothing faults it costs nothing. Owns which ones; the records are those of the processes probe.
 */
#ifndef MEMWHY_PROBES_FAULTS_GROWTH_H
#define MEMWHY_PROBES_FAULTS_GROWTH_H

#include "base/groups.h"
#include "capture/capture.h"

struct faults_growth {
	struct groups processes; /* tgid -> struct faulting */
	u64 next_ns;
	u64 tick_ns;
};

void faults_growth_init(struct faults_growth *g);
/* Faults of a process that put pages into its memory, or may have. */
int faults_growth_add(struct faults_growth *g, u32 tgid, u64 faults);
/* At each drain. */
int faults_growth_send(struct faults_growth *g, struct capture *c);
void faults_growth_free(struct faults_growth *g);

#endif
