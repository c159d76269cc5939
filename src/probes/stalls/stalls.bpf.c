/*
 * Stalled allocations, from the tracepoints of mm/vmscan.c, mm/compaction.c and mm/oom_kill.c. The
 * hooks exist twice, as raw and as classic tracepoints; what belongs to one stall is worked out in
 * stalls_state.bpf.h and stalls_open.bpf.h, what each event says in stalls_steps.bpf.h.
 */
#include "probes/stalls/stalls_classic.bpf.h"
#include "probes/stalls/stalls_raw.bpf.h"
