/*
 * What memwhy itself costs: its CPU time and memory, and the run time of its BPF programs, which
 * the observed tasks pay.
 *
 * The kernel's BPF statistics cost two clock reads a run, so they are on only until enough runs
 * were measured; from then on the time is the measured time a run times the runs, these in
 * proportion to the events seen. With few events they stay on and the time is exact.
 */
#ifndef MEMWHY_RECORD_COST_H
#define MEMWHY_RECORD_COST_H

#include "event/meta.h"
#include "probes/probe.h"

struct cost {
	int stats_fd;                   /* keeps the statistics on; -1: off */
	u64 seen_at_close;              /* events seen when they were turned off */
	u64 ns_at_close, runs_at_close; /* without what was before they counted */
	u64 ns_before, runs_before;     /* while programs were attached, and saw nothing */
	u64 maps_bytes;                 /* of all maps, as last measured */
	bool maps_known;                /* they are; false: they are to be measured again */
	u64 give_back_ns;               /* when memory that is free goes back to the kernel next */
	pid_t helpers[2];               /* processes that work for memwhy; 0: none */
	const struct unwind *unwind;    /* whose maps are no probe's; NULL: none */
	const struct reader *reader;    /* which works for memwhy; NULL: none */
};

void cost_begin(struct cost *c);
/* Programs count from now on: what they ran before is no measure of what an event costs. */
void cost_counting(struct cost *c, struct probe_run *const *runs, size_t n);
/* To be called now and then: turns the statistics off once enough runs were measured, and gives
 * memory back that is free. */
void cost_watch(struct cost *c, struct probe_run *const *runs, size_t n);
/* The cost so far. */
struct rec_cost cost_read(struct cost *c, struct probe_run *const *runs, size_t n);
void cost_end(struct cost *c);

#endif
