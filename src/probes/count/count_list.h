/* `memwhy count --list EVENT...`: the events that a name or glob stands for, and their fields. */
#ifndef MEMWHY_PROBES_COUNT_LIST_H
#define MEMWHY_PROBES_COUNT_LIST_H

#include "probes/probe.h"

extern const struct probe_action count_list;

#endif
