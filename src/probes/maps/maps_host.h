/* The machine's limits by which calls that map memory fail. Private to the probe. */
#ifndef MEMWHY_PROBES_MAPS_HOST_H
#define MEMWHY_PROBES_MAPS_HOST_H

#include "probes/maps/maps.h"
#include "probes/probe.h"

/* What the BPF program needs of them, to say why a call failed. */
void maps_limits_set(struct maps_config *config);

/* Sends them, and how the growth of address spaces is obtained. */
extern const struct probe_sampler maps_sampler;

#endif
