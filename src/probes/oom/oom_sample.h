/*
 * The part of the oom probe that reads files: the kernel's log for its own words on each kill,
 * zones against their watermarks, and when a victim had gone.
 */
#ifndef MEMWHY_PROBES_OOM_SAMPLE_H
#define MEMWHY_PROBES_OOM_SAMPLE_H

#include "probes/probe.h"

extern const struct probe_sampler oom_sampler;

/* Sends REC_OOM_STATE for a kill that was just seen. */
int oom_state_send(struct capture *c, u32 victim_tid);

#endif
