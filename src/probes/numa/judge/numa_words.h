/* Objects, threads and nodes of numa in words. */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_WORDS_H
#define MEMWHY_PROBES_NUMA_JUDGE_WORDS_H

#include "probes/numa/judge/numa_groups.h"
#include "report/report.h"

/* "fill (job.c:12)", "table (job)", "stack of worker (1234)", "libc.so.6". Text from the system in
 * it is not escaped: for cells. */
const char *numa_site_name(struct report *r, const struct numa_feed *f, const struct numa_site *s);
/* "heap block", "mapping", "variable", "stack", ... */
const char *numa_kind_name(u32 kind);
const char *numa_why_name(u32 why);
const char *numa_source_name(u32 source);
/* enum numa_page_from: "seen at the access", ... */
const char *numa_page_from_name(u32 from);
const char *numa_level_name(u32 level);
const char *numa_op_name(u32 op);
const char *numa_move_name(u32 why);
/* "0-2,5"; "" for none. */
const char *numa_mask_text(struct report *r, u64 mask);
/* The function at the top of a stack; or the first that is no allocator's. NULL: not known. */
const char *numa_function(struct report *r, u32 stack, bool skip_allocators);

#endif
