/*
 * The ledger of the machine: which counter of the kernel is in which row, and what of it another
 * one counts too. Pure: numbers in, rows out. docs/where.md has the kernel's rules it follows.
 */
#ifndef MEMWHY_PROBES_WHERE_LEDGER_H
#define MEMWHY_PROBES_WHERE_LEDGER_H

#include "base/util.h"
#include "probes/where/where.h"
#include "sys/keyvals.h"

/* What was read of the machine. NULL or 0 where it could not be. */
struct where_numbers {
	const struct keyvals *meminfo, *vmstat;
	u64 page_bytes;
	u64 cpu_lists_pages;
	bool has_cpu_lists;
	u64 tmpfs_bytes; /* of all mounted ones, in swap too */
	bool has_tmpfs;
	bool stacks_in_vmalloc; /* CONFIG_VMAP_STACK */
	u64 percpu_first_bytes; /* see sys/memory/percpu.h */
	bool balloon_in_total;  /* what the balloon took is still in MemTotal */
	u64 sockets_bytes;      /* pages behind sockets, estimated */
	bool has_sockets;
	u64 zram_bytes, zram_data_bytes; /* of zram devices */
	u64 huge_free_bytes, huge_reserved_bytes;
};

/* -ENODATA without MemTotal. */
int where_ledger_machine(const struct where_numbers *n, struct where_ledger *ret);
/* Sets a row, or a part. */
void where_set(struct where_ledger *l, u32 row, u64 bytes);
void where_set_part(struct where_ledger *l, u32 part, u64 bytes);
/* Sets a row that is an estimate: no more than what the other rows leave. */
void where_set_estimate(struct where_ledger *l, u32 row, u64 bytes);

/* The ledger of a control group: which number of memory.stat is in which row, of version 1 and 2
 * (where_group.c). */

/* stat: memory.stat. kernel_bytes: of version 1, memory.kmem.usage_in_bytes; 0: not known. */
void where_ledger_group(int version, u64 usage_bytes, u64 kernel_bytes, const struct keyvals *stat,
	struct where_ledger *ret);

#endif
