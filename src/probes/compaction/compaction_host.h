/* What the compaction probe reads of the host: names of results and zones, and where zones are. */
#ifndef MEMWHY_PROBES_COMPACTION_HOST_H
#define MEMWHY_PROBES_COMPACTION_HOST_H

#include "probes/compaction/compaction.h"
#include "probes/probe.h"

#define COMPACTION_RESULT_SET "compact_result" /* REC_ENUM */
#define COMPACTION_ZONE_SET "zone"

/* The results of the running kernel: see value_names_read(). */
int compaction_results_read(
	int (*fn)(void *arg, u64 value, const char *name), void *arg, const char **ret_method);
/* The number of the result named "success"; 255: not known. */
u8 compaction_success(void);
/* Orders of a free area; 0: not known. */
u32 compaction_orders(void);
/* Fills in node and zone of the populated zone that begins at this page, where there is one. */
void compaction_zone_find(u64 start_pfn, s16 *node, u8 *zone);

/* Sends the names, once. */
extern const struct probe_sampler compaction_sampler;

#endif
