/*
 * `memwhy numa try`: moves the pages of an object of a running process, measures before and after,
 * and says whether it helped. Asks before it acts; --undo puts the pages back.
 */
#ifndef MEMWHY_PROBES_NUMA_TRY_H
#define MEMWHY_PROBES_NUMA_TRY_H

#include "probes/probe.h"

extern const struct probe_action numa_try;

#endif
