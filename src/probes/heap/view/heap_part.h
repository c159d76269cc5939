/* What a report on a part of what happened says of itself: one of a recording (--from, --to), or of
 * a process that memwhy attached to late. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_HEAP_PART_H
#define MEMWHY_PROBES_HEAP_VIEW_HEAP_PART_H

#include "probes/heap/events/event_replay.h"
#include "report/report.h"

/* to_ns: UINT64_MAX: the end. */
void heap_part_tell(const struct event_replay *replay, u64 from_ns, u64 to_ns, struct report *r);

#endif
