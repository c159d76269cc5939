/*
 * Stalled allocations, from the tracepoints of mm/vmscan.c, mm/compaction.c and mm/oom_kill.c. The
 * hooks exist twice, as raw and as classic tracepoints; what belongs to one stall is worked out in
 * state.bpf.h and open.bpf.h, what each event says in steps.bpf.h.
 */
#include "probes/stalls/classic.bpf.h"
#include "probes/stalls/raw.bpf.h"
