/*
 * Who touches memory of which node, without a PMU: hint faults of automatic NUMA balancing and what
 * it moves because of them, first touches; and what is needed to tell of what memory that is:
 * mappings, tasks.
 */
#include "probes/numa/capture/numa_touch.bpf.h"
#include "probes/numa/capture/numa_space.bpf.h"
