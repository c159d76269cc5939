/*
 * Private to the limit probe: what the group's memory controller and the page tables of its
 * processes say.
 */
#ifndef MEMWHY_PROBES_LIMIT_SAMPLE_H
#define MEMWHY_PROBES_LIMIT_SAMPLE_H

#include "probes/probe.h"

extern const struct probe_sampler limit_sampler;

#endif
