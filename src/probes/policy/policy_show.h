/*
 * `policy show`: the policies in force and where the pages are, read from /proc. Beside calls, the
 * nodes of the machine only.
 */
#ifndef MEMWHY_PROBES_POLICY_SHOW_H
#define MEMWHY_PROBES_POLICY_SHOW_H

#include "probes/probe.h"

#define POLICY_SHOW "show"

extern const struct probe_sampler policy_sampler;

#endif
