/*
 * Page reclaim, from the tracepoints of mm/vmscan.c. The hooks exist twice, as raw and as
 * classic tracepoints; what they do is in a header for each subject: stalls, LRU lists, kswapd,
 * and what reclaim waits for.
 */
#include "probes/reclaim/reclaim_classic.bpf.h"
#include "probes/reclaim/reclaim_raw.bpf.h"
