/* Private to numa: its BPF programs, attached and drained. */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_H
#define MEMWHY_PROBES_NUMA_CAPTURE_H

#include "probes/probe.h"

extern const struct probe_bpf numa_bpf;

#endif
