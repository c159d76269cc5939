/*
 * Who touches memory of which node, without a PMU: hint faults of automatic NUMA balancing, and
 * what it moves because of them.
 */
#include "probes/numa/hint.bpf.h"
