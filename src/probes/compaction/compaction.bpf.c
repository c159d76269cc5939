/*
 * Memory compaction, from the tracepoints of mm/compaction.c. The hooks exist twice, as raw and as
 * classic tracepoints; what they do is in a header for each subject: runs, the allocations they
 * are for, kcompactd, and the zone.
 */
#include "probes/compaction/compaction_classic.bpf.h"
#include "probes/compaction/compaction_raw.bpf.h"
