/* Stalls after which their thread was quiet: user space counts them. See stalls_state.bpf.h. */
#ifndef MEMWHY_PROBES_STALLS_SETTLE_H
#define MEMWHY_PROBES_STALLS_SETTLE_H

#include "probes/probe.h"
#include "probes/stalls/stalls.h"

/*
 * A thread that was quiet for so long has done with its stall. Between two steps there is little
 * but waiting for a CPU, which may take a while on a busy machine. Single stalls are waited for.
 */
#define STALLS_IDLE_NS 5000000000ULL
#define STALLS_IDLE_EACH_NS 1000000000ULL

/* As probe_bpf.settle. */
int stalls_settle(
	struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events);
/* What the programs get as configuration, which `settle` uses too. */
void stalls_settle_with(const struct stalls_config *config);

/* Sends a stall of the ring as it is on disk. */
int stalls_send(struct capture *c, const struct stack_maps *stacks, struct stalls_event *e);

#endif
