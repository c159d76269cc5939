/* Words for the numbers in records of stalls. Everything here takes any number. */
#ifndef MEMWHY_PROBES_STALLS_WORDS_H
#define MEMWHY_PROBES_STALLS_WORDS_H

#include "base/str.h"
#include "event/stream.h"
#include "probes/stalls/stalls.h"

#define STALLS_ZONE_SET "zone_start"

const char *stalls_kind_name(u8 kind);
const char *stalls_outcome_name(u8 outcome);
const char *stalls_step_name(u8 kind);
/* NULL: such steps have none. */
const char *stalls_mode_name(u8 kind, u8 mode);
const char *stalls_result_name(u8 kind, u8 result);
/* The status of a compaction's zones, in the kernel's words; NULL for other steps. */
const char *stalls_status_name(u8 kind, u8 result);
/* "page fault", "THP fault", "syscall write", "kernel thread"; nothing where it is not known. */
void stalls_trigger_add(struct str *out, u8 trigger, u8 order, s32 number, u32 pageblock_order);
/* "kswapd woken; reclaim 3.1ms, 64 scanned, 32 reclaimed; ..." */
void stalls_story_add(struct str *out, const struct stream *s, const struct stalls_event *e);

#endif
