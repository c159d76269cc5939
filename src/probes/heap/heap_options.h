/* The option table of heap, and what of it goes together. */
#ifndef MEMWHY_PROBES_HEAP_OPTIONS_H
#define MEMWHY_PROBES_HEAP_OPTIONS_H

#include "probes/probe.h"

extern const struct probe_options heap_options;

#endif
