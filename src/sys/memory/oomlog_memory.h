/*
 * What the kernel's log says about memory when it reports an OOM kill: the machine's below
 * "Mem-Info:" (mm/show_mem.c), a group's below "Memory cgroup stats for" (mm/memcontrol.c). Fed
 * with lines one by one; owns the words of those lines, and what of a number another one counts
 * too.
 */
#ifndef MEMWHY_SYS_OOMLOG_MEMORY_H
#define MEMWHY_SYS_OOMLOG_MEMORY_H

#include "base/util.h"

/* On disk, as places of an array: never reorder. */
enum oomlog_row {
	OOMLOG_FREE,
	OOMLOG_FREE_CPU,
	OOMLOG_ANON,  /* those of the swap cache too */
	OOMLOG_CACHE, /* without shared memory and swap cache */
	OOMLOG_SHMEM,
	OOMLOG_HUGETLB,
	OOMLOG_SLAB,
	OOMLOG_MISC, /* reclaimable */
	OOMLOG_PAGE_TABLES,
	OOMLOG_SECONDARY,
	OOMLOG_STACKS,
	OOMLOG_BOUNCE,
	OOMLOG_PERCPU,
	OOMLOG_VMALLOC,
	OOMLOG_SOCKETS,
	OOMLOG_COMPRESSED,
	OOMLOG_KERNEL, /* of a group: kernel memory that is in none of these */
	OOMLOG_ROWS,
};

/* Rows do not overlap; what they leave of the total is in none. */
struct oomlog_ledger {
	bool of_group;
	u64 total_bytes; /* 0: of a group, see oomlog_ledger() */
	u32 known;       /* rows, a bit each */
	u64 bytes[OOMLOG_ROWS];
};

#define OOMLOG_NUMBERS 40

/* To be zeroed before its first use. */
struct oomlog_memory {
	u32 within; /* of which of the two texts the lines are */
	u64 seen;   /* a bit for each of numbers */
	u64 numbers[OOMLOG_NUMBERS];
};

void oomlog_memory_feed(struct oomlog_memory *m, const char *line);
/* false: the log said nothing of it. */
bool oomlog_memory_ledger(const struct oomlog_memory *m, u64 page_bytes, struct oomlog_ledger *ret);

#endif
