/*
 * The ledger of a control group: which number of memory.stat is in which row, of version 1 and 2.
 * Pure: numbers in, rows out.
 */
#ifndef MEMWHY_PROBES_WHERE_GROUP_H
#define MEMWHY_PROBES_WHERE_GROUP_H

#include "probes/where/where.h"
#include "sys/keyvals.h"

/* stat: memory.stat. kernel_bytes: of version 1, memory.kmem.usage_in_bytes; 0: not known. */
void where_ledger_group(int version, u64 usage_bytes, u64 kernel_bytes, const struct keyvals *stat,
	struct where_ledger *ret);

#endif
